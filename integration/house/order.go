package house

import (
	"maps"
	"slices"
)

// Backward counts the arrows that run against the best order of the files that is found, and all of them. To find the very best order is
// hard; this one is found greedily (Eades, Lin and Smyth 1993) and improved by moving one file at a time until no move helps.
// The same arrows always give the same number.
func Backward(arrows map[Arrow]bool) (back, all int) {
	files := map[string]bool{}
	for a := range arrows {
		files[a.From], files[a.To] = true, true
	}
	names := slices.Sorted(maps.Keys(files))
	number := map[string]int{}
	for i, n := range names {
		number[n] = i
	}
	uses := make([][]bool, len(names))
	for i := range uses {
		uses[i] = make([]bool, len(names))
	}
	for a := range arrows {
		uses[number[a.From]][number[a.To]] = true
	}
	order := greedy(uses)
	for improve(uses, order) {
	}
	for i, low := range order {
		for _, high := range order[:i] {
			if uses[low][high] {
				back++
			}
		}
	}
	return back, len(arrows)
}

// greedy puts who is used by nobody left first, who uses nobody left last, and between them whoever uses most more than it is used.
func greedy(uses [][]bool) []int {
	n := len(uses)
	var first, last []int
	placed := make([]bool, n)
	for len(first)+len(last) < n {
		best, bestBy, sink := -1, 0, -1
		for i := range n {
			if placed[i] {
				continue
			}
			out, in := 0, 0
			for j := range n {
				if !placed[j] && j != i {
					out, in = out+count(uses[i][j]), in+count(uses[j][i])
				}
			}
			if out == 0 && in > 0 && sink < 0 {
				sink = i
			}
			if in == 0 {
				out = n + 1 // a source comes before all others
			}
			if best < 0 || out-in > bestBy {
				best, bestBy = i, out-in
			}
		}
		if sink >= 0 {
			last = append(last, sink)
			placed[sink] = true
			continue
		}
		first = append(first, best)
		placed[best] = true
	}
	slices.Reverse(last)
	return append(first, last...)
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// improve moves one file to where the fewest arrows run backward, and reports whether any move helped.
func improve(uses [][]bool, order []int) bool {
	for from, file := range order {
		gain, best, to := 0, 0, from
		for at := from - 1; at >= 0; at-- { // before order[at]
			gain += count(uses[file][order[at]]) - count(uses[order[at]][file])
			if gain > best {
				best, to = gain, at
			}
		}
		gain = 0
		for at := from + 1; at < len(order); at++ { // behind order[at]
			gain += count(uses[order[at]][file]) - count(uses[file][order[at]])
			if gain > best {
				best, to = gain, at
			}
		}
		if best > 0 {
			moved := slices.Insert(slices.Delete(slices.Clone(order), from, from+1), to, file)
			copy(order, moved)
			return true
		}
	}
	return false
}
