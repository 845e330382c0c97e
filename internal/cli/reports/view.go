package reports

import (
	"github.com/weftrun/weft/graph"

	"github.com/weftrun/weft/internal/cli/terminal"
)

// view shows the progress of a run. Close is called once, after the last event. Say may be called
// at any time before, from any goroutine.
type view interface {
	Modes() graph.Mode // the modes of the events that it shows
	Event(graph.Event)
	Say(line string)
	Close()
}

// View returns the view for the progress of a run: silent with JSON, live on a terminal, else
// lines.
func (o *Output) View() view {
	term := terminal.Of(o.Progress)
	switch {
	case o.JSON:
		return silent{}
	case term == nil:
		return newPlain(o.Stderr)
	}
	return newLive(term)
}

// silent shows nothing.
type silent struct{}

func (silent) Modes() graph.Mode { return graph.Tasks } // a subscription needs a mode

func (silent) Event(graph.Event) {}

func (silent) Say(string) {}

func (silent) Close() {}
