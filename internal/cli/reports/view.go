package reports

import (
	"github.com/weftrun/weft/graph"

	"github.com/weftrun/weft/internal/cli/terminal"
)

// View shows how a run goes. close is called once, when no more events come; say may be
// called at any time before.
type view interface {
	Modes() graph.Mode // of the events that it shows
	Event(graph.Event)
	Say(line string)
	Close()
}

// View returns the view of a run that suits the output.
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

func (silent) Modes() graph.Mode { return graph.Tasks } // some there must be

func (silent) Event(graph.Event) {}

func (silent) Say(string) {}

func (silent) Close() {}
