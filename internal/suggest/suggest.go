package suggest

import "strings"

// Nearest returns the known name that differs least from word, or "" when all differ
// in more than about a third of their letters. Case does not count; of equals the
// first is taken.
func Nearest(word string, known []string) string {
	best, least := "", max(1, (len(word)+1)/3)+1
	for _, name := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(name)); d < least && d < len(name) {
			best, least = name, d
		}
	}
	return best
}

// Misspelt returns the known name that differs from word in one or two letters. It returns "" if
// there is none, or if word itself is known.
func Misspelt(word string, known []string) string {
	near := ""
	for _, name := range known {
		switch d := distance(strings.ToLower(word), strings.ToLower(name)); {
		case d == 0 && word == name:
			return ""
		case d <= 2 && near == "":
			near = name
		}
	}
	return near
}

// distance returns how many bytes must be changed, added, taken away or swapped with
// the next to turn a into b, where no byte is touched twice.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
