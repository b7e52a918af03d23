package mountcfg

import "strings"

// fieldKeys are the keys of the top level as people may write them.
func fieldKeys() []string {
	keys := []string{keyWorktrees}
	for i := range fields {
		keys = append(keys, fields[i].key)
		if fields[i].kind == kindDuration {
			keys = append(keys, fields[i].key+suffixMillis)
		}
	}
	return keys
}

func ruleKeys() []string {
	keys := make([]string, len(ruleFields))
	for i := range ruleFields {
		keys[i] = ruleFields[i].key
	}
	return append(keys, keyExempt)
}

// didYouMean returns the nearest key if it is near enough for a typing error, otherwise "".
func didYouMean(key string, known []string) string {
	if len(key) > 64 {
		return ""
	}
	key = strings.ToLower(strings.ReplaceAll(key, "-", "_"))
	best, bestDistance := "", 3
	for _, k := range known {
		if d := distance(key, k); d < bestDistance && d <= len(k)/2 {
			best, bestDistance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance is the edit distance in bytes (Levenshtein), one row at a time.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := diagonal
			if a[i-1] != b[j-1] {
				replace++
			}
			diagonal = row[j]
			row[j] = min(replace, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
