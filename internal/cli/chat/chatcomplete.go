package chat

import (
	"encoding/json"
	"strings"

	"github.com/weftrun/weft/state/agent"
)

// complete returns a line with the common beginning of all completions of its last word. If there
// are several completions, it returns them too.
func (c *dialogue) complete(line string) (whole string, choices []string) {
	if text := c.editable(); text != "" && strings.TrimSuffix(line, " ") == "/edit" {
		return "/edit " + text, nil
	}
	at := strings.LastIndexByte(line, ' ') + 1
	if !commandsAlone(line[:at]) {
		return line, nil
	}
	word := line[at:]
	choices = c.agent.Complete(word)
	switch {
	case len(choices) == 0:
		return line, nil
	case len(choices) > 1:
		return line[:at] + common(choices), choices
	case choices[0] == word && len(c.agent.Complete(word+":")) > 0:
		return line + ":", nil // the next Tab completes its options
	case choices[0] == word:
		return line + " ", nil
	}
	return line[:at] + choices[0], nil
}

// commandsAlone reports whether a text has commands only. Behind other words Tab completes nothing.
func commandsAlone(text string) bool {
	for word := range strings.FieldsSeq(text) {
		if !strings.HasPrefix(word, "/") {
			return false
		}
	}
	return true
}

// editable returns the JSON that the only open question asks to approve, or "".
func (c *dialogue) editable() string {
	if len(c.open) != 1 {
		return ""
	}
	var r agent.ApprovalRequest
	if json.Unmarshal(c.open[0].Data, &r) != nil {
		return ""
	}
	return string(r.Data)
}

// common returns the longest common prefix of words.
func common(words []string) string {
	same := words[0]
	for _, w := range words[1:] {
		for !strings.HasPrefix(w, same) {
			same = same[:len(same)-1]
		}
	}
	return same
}
