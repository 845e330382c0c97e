package verbs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/picture"
)

// graphFlags are the flags of graph.
type graphFlags struct {
	format string
	depth  int
	thread string
	at     uint64
}

// drawings are the values of --format.
var drawings = []string{"mermaid", "dot", "text", "json", "svg", "html"}

func (a *app) graphVerb() *cobra.Command {
	var f graphFlags
	cmd := &cobra.Command{
		Use:   "graph FILE|THREAD [FILE]",
		Short: "Draw a workflow, or what a thread has done in it",
		Long: `Graph draws a workflow, or of a thread what its newest turn has done: which nodes ran
how often, which choices were taken, and what is due. What is neither a file nor a graph
of this program is a THREAD; --thread NAME always is. The thread knows its workflow;
name the FILE behind it if it was moved.

The formats svg and html are pictures for a browser, which need no other file and no network:
weft graph FILE --format html > graph.html`,
		Args: a.arguments("FILE or THREAD", 0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			named := cmd.Flags().Changed("thread")
			if !named && len(args) > 0 && !a.isGraph(args[0]) {
				f.thread, args, named = args[0], args[1:], true
			}
			if err := f.check(a, cmd, named, args); err != nil {
				return err
			}
			if named {
				return a.onThread(cmd.Context(), a.openToRead, f.thread, func(s *session) error {
					return s.drawRun(cmd.Context(), first(args), f)
				})
			}
			return a.draw(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.format, "format", "mermaid", "mermaid, dot, text, json, svg or html")
	cmd.Flags().IntVar(&f.depth, "depth", 0, "open subgraphs down to this depth")
	cmd.Flags().StringVar(&f.thread, "thread", "", "draw the newest turn of this thread")
	cmd.Flags().Uint64Var(&f.at, "at", 0, "with --thread: up to this checkpoint (default the newest)")
	return cmd
}

// isGraph reports whether a name is a graph of this program, or exists on the disk.
func (a *app) isGraph(name string) bool {
	_, err := os.Stat(name)
	return a.has(name) || !errors.Is(err, fs.ErrNotExist)
}

func (f *graphFlags) check(a *app, cmd *cobra.Command, named bool, args []string) error {
	switch {
	case len(args) > 1:
		return reports.Usage(a.Invocation+" graph --help shows how", "graph does not take the argument %q", args[1])
	case !slices.Contains(drawings, f.format):
		return reports.Usage("use one of "+strings.Join(drawings, ", "), "a graph cannot be drawn as %q", f.format)
	case a.JSON && cmd.Flags().Changed("format") && f.format != "json":
		return reports.Usage("leave one of them out", "--json and --format %s are two forms of the drawing", f.format)
	case f.depth < 0:
		return reports.Usage("give a number from 0 on", "the depth must not be negative (got %d)", f.depth)
	case f.at != 0 && !named:
		return reports.Usage("name the thread", "--at is a checkpoint of a thread")
	case !named && len(args) == 0:
		return reports.Usage(a.Invocation+" graph --help shows how", "graph needs a FILE or a THREAD")
	}
	if a.JSON {
		f.format = "json"
	}
	return nil
}

func (a *app) draw(ctx context.Context, name string, f graphFlags) error {
	open, err := a.declared(name)
	if err != nil {
		return err
	}
	g, err := open(ctx, new(checkpoint.Memory))
	if err != nil {
		return err
	}
	return a.printDrawing(g.Draw(f.depth), f.format, nil)
}

func (s *session) drawRun(ctx context.Context, file string, f graphFlags) error {
	if err := s.lengthen(ctx); err != nil {
		return err
	}
	p, found, err := s.inspect(ctx)
	if err == nil && !found {
		err = reports.Usage(s.Command("threads")+" lists the threads of the store", "there is no thread %q, and no file", s.thread)
	}
	if err != nil {
		return err
	}
	if err := s.find(ctx, "graph", file, p); err != nil {
		return err
	}
	turn, err := graph.Turn(ctx, s.store, s.thread, f.at, 0)
	if err != nil {
		return moment{at: f.at}.unknown(ctx, s, err)
	}
	d, err := s.graph.Thread(s.thread).DrawTurn(ctx, turn, f.depth)
	if err != nil {
		return err
	}
	return s.printDrawing(d, f.format, &drawnRun{s.thread, turn})
}

// printDrawing prints a drawing. run is what it shows of a thread; nil if it shows the graph alone.
func (a *app) printDrawing(d graph.Drawing, format string, run *drawnRun) (err error) {
	switch format {
	case "json":
		return a.PrintJSON(d)
	case "dot":
		_, err = fmt.Fprint(a.Stdout, d.DOT())
	case "text":
		_, err = fmt.Fprint(a.Stdout, d.Text())
	case "svg":
		_, err = fmt.Fprint(a.Stdout, picture.New(d).SVG(picture.Options{Run: run.of(d)}))
	case "html":
		page := picture.Page{Title: d.Graph, Drawing: &d, Run: run.of(d)}
		if run != nil {
			page.Title, page.Turn = d.Graph+": "+run.thread, run.turn
		}
		err = page.Write(a.Stdout)
	default:
		_, err = fmt.Fprint(a.Stdout, d.Mermaid())
	}
	return err
}
