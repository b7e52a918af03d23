package harness

import (
	"strings"
	"unicode"
)

// InWords is the name of a test as a sentence: TestAWriteOfARobbedHolderIsRefused/at_once becomes
// "a write of a robbed holder is refused: at once". Words of capitals only, such as FUSE, stay as they are.
func InWords(test string) string {
	top, cases, _ := strings.Cut(test, "/")
	words := camelWords(strings.TrimPrefix(top, "Test"))
	for i, word := range words {
		if len(word) == 1 || strings.ToUpper(word) != word {
			words[i] = strings.ToLower(word)
		}
	}
	said := strings.Join(words, " ")
	if cases != "" {
		said += ": " + strings.ReplaceAll(cases, "_", " ")
	}
	return said
}

// camelWords splits before each capital that begins a word: "A Lease That", but "FUSE That".
func camelWords(name string) []string {
	letters := []rune(strings.ReplaceAll(name, "_", " "))
	var words []string
	begin := 0
	for i := 1; i <= len(letters); i++ {
		if i < len(letters) && !beginsWord(letters, i) {
			continue
		}
		for _, word := range strings.Fields(string(letters[begin:i])) {
			words = append(words, article(word)...)
		}
		begin = i
	}
	return words
}

func beginsWord(letters []rune, i int) bool {
	if !unicode.IsUpper(letters[i]) {
		return false
	}
	return !unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])
}

// article splits the A from a word of capitals, as in AFUSE; ACL is one word.
func article(word string) []string {
	if len(word) > 3 && word[0] == 'A' && strings.ToUpper(word) == word {
		return []string{"A", word[1:]}
	}
	return []string{word}
}
