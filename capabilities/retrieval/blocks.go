package retrieval

import (
	"regexp"
	"strings"
)

// block is a paragraph, a heading or a fenced block of Markdown.
type block struct {
	from, to int
	level    int    // of a heading, 0 for anything else
	title    string // of a heading
}

var (
	heading = regexp.MustCompile(`^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$`)
	fence   = regexp.MustCompile("^ {0,3}(```+|~~~+)")
)

// blocks returns the blocks of a text, without the empty lines between them.
func blocks(text string) (list []block) {
	open, fenced := false, "" // whether a block is open, and what ends it
	at := 0
	for line := range strings.Lines(text) {
		from := at
		at += len(line)
		line = strings.TrimRight(line, "\r\n")
		mark := fence.FindStringSubmatch(line)
		switch {
		case fenced != "":
			list[len(list)-1].to = at
			if mark != nil && strings.HasPrefix(mark[1], fenced) && strings.TrimSpace(line) == mark[1] {
				open, fenced = false, ""
			}
		case mark != nil:
			list, fenced = append(list, block{from: from, to: at}), mark[1]
		case heading.MatchString(line):
			m := heading.FindStringSubmatch(line)
			list, open = append(list, block{from: from, to: at, level: len(m[1]), title: m[2]}), false
		case strings.TrimSpace(line) == "":
			open = false
		case open:
			list[len(list)-1].to = at
		default:
			list, open = append(list, block{from: from, to: at}), true
		}
	}
	return list
}
