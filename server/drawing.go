package server

import (
	"strconv"
	"strings"

	"github.com/weftrun/weft/server/wire"
)

// allLevels is how many levels of subgraphs a drawing has at most.
const allLevels = 32

// drawAssistant answers with the graph of an assistant. xray is how many levels of subgraphs are
// open: a number, or true for all.
func drawAssistant(c *call) error {
	a, err := c.assistant("read")
	if err != nil {
		return err
	}
	xray, err := levels(c.URL.Query().Get("xray"))
	if err != nil {
		return err
	}
	g, err := c.graphOf(a)
	if err != nil {
		return err
	}
	return c.answer(wire.GraphOf(g.Draw(xray+1), xray))
}

// levels reads a number of levels.
func levels(text string) (int, error) {
	switch strings.ToLower(text) {
	case "", "false":
		return 0, nil
	case "true":
		return allLevels, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, invalid("xray must be true, false or a number of levels (got %.100q)", text)
	}
	return min(n, allLevels), nil
}
