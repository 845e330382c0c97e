package chat

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
	"github.com/weftrun/weft/nodes/turn"
)

// lines are the messages of a user or a script.
type lines interface {
	// next returns the next message, or io.EOF. The prompt names the answer that is expected, or is
	// "" for a message. When ctx ends, next returns its cause. The goroutine that reads the input
	// then stays until the process ends.
	next(ctx context.Context, prompt string) (string, error)
	// remember adds the user's messages to the history of the editor.
	remember(turn.History)
	// interactive reports whether the messages come from a user at a terminal.
	interactive() bool
}

// linesOf returns the given messages, or those of the input if none are given.
func linesOf(o *reports.Output, stdin io.Reader, messages []string, complete func(line string) (whole string, choices []string)) lines {
	if len(messages) > 0 {
		return &given{messages}
	}
	if in, out := terminalOf(o, stdin); in != nil {
		return newEditor(in, out, complete)
	}
	return &script{read: bufio.NewReader(stdin)}
}

// Interactive reports whether a user at a terminal gives the messages, who may stop a turn and go
// on.
func Interactive(o *reports.Output, stdin io.Reader, messages []string) bool {
	in, _ := terminalOf(o, stdin)
	return len(messages) == 0 && in != nil
}

// terminalOf returns the terminal of a user, or nil.
func terminalOf(o *reports.Output, stdin io.Reader) (in, out *os.File) {
	in, ok := stdin.(*os.File)
	to, isTerm := o.Stdout.(terminal.Escaper)
	if !ok || !isTerm || o.JSON || !term.IsTerminal(int(in.Fd())) || terminal.Of(to.Writer) == nil {
		return nil, nil
	}
	return in, to.Writer.(*os.File)
}

// given are messages of the command line.
type given struct{ left []string }

func (g *given) next(context.Context, string) (string, error) {
	if len(g.left) == 0 {
		return "", io.EOF
	}
	text := g.left[0]
	g.left = g.left[1:]
	return text, nil
}

func (*given) remember(turn.History) {}
func (*given) interactive() bool     { return false }

// script are the lines of an input that is no terminal. It skips empty lines.
type script struct{ read *bufio.Reader }

func (s *script) next(ctx context.Context, _ string) (string, error) {
	return terminal.Await(ctx, func() (string, error) {
		for {
			line, err := readLine(s.read)
			if text := strings.TrimSpace(line); text != "" {
				return text, nil
			}
			if err != nil {
				return "", err
			}
		}
	})
}

// readLine reads up to the next newline, or to the end.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > terminal.MaxInput {
			return "", reports.Usage("send it in parts", "a line of the input is too long: more than %d MiB", terminal.MaxInput>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return string(line), err
		}
	}
}

func (*script) remember(turn.History) {}
func (*script) interactive() bool     { return false }

// editor reads lines on a terminal. The terminal is in raw mode only during a read, so Ctrl-C is a
// key at the prompt and a signal while the agent works.
type editor struct {
	in, out *os.File
	keys    *keys
	line    *term.Terminal
	past    *past
	warned  bool // the last line was Ctrl-C
}

func newEditor(in, out *os.File, complete func(string) (string, []string)) *editor {
	e := &editor{in: in, out: out, keys: &keys{in: in}, past: &past{}}
	e.line = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{e.keys, out}, "")
	e.line.History = e.past
	e.line.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		whole, choices := complete(line[:pos])
		if len(choices) > 1 && whole == line[:pos] {
			_, _ = io.WriteString(e.line, terminal.Escaped(strings.Join(choices, "  "), terminal.IsControl)+"\n") // a failed list is no failure of the input
		}
		return whole + line[pos:], len(whole), true
	}
	return e
}

func (e *editor) interactive() bool { return true }

func (e *editor) remember(p turn.History) {
	for _, m := range p.Messages {
		if m.Role == "user" {
			e.past.Add(terminal.Escaped(strings.Join(strings.Fields(m.Text()), " "), terminal.IsDirectionMark))
		}
	}
}

func (e *editor) next(ctx context.Context, prompt string) (string, error) {
	for {
		text, err := e.read(ctx, prompt)
		again := e.warned
		e.warned = e.keys.interrupted()
		switch {
		case errors.Is(err, term.ErrPasteIndicator):
			return text, nil
		case err != nil:
			return "", err
		case e.warned && again:
			return "", io.EOF
		case e.warned:
			_, _ = io.WriteString(e.out, "Ctrl-C again leaves, and so does /exit.\n")
		default:
			return text, nil
		}
	}
}

func (e *editor) read(ctx context.Context, prompt string) (string, error) {
	before, err := term.MakeRaw(int(e.in.Fd()))
	if err != nil {
		return "", err
	}
	defer func() { _ = term.Restore(int(e.in.Fd()), before) }() // a failure cannot be reported
	if cols, rows, err := term.GetSize(int(e.out.Fd())); err == nil && cols > 0 {
		_ = e.line.SetSize(cols, rows) // without it lines wrap at 80 columns
	}
	e.line.SetPrompt(terminal.Escaped(prompt, terminal.IsControl) + "> ")
	return terminal.Await(ctx, e.line.ReadLine)
}

// keys reads the keys of the terminal. Ctrl-C clears and ends the line; interrupted reports it.
type keys struct {
	in      io.Reader
	left    []byte
	stopped bool
}

const (
	ctrlC = 3
	// emptied moves to the end of the line, erases the line, and ends it.
	emptied = "\x05\x15\r"
)

func (k *keys) Read(p []byte) (int, error) {
	if len(k.left) == 0 {
		buf := make([]byte, len(p))
		n, err := k.in.Read(buf)
		if n == 0 {
			return 0, err
		}
		for _, b := range buf[:n] {
			if b == ctrlC {
				k.stopped = true
				k.left = append(k.left, emptied...)
			} else {
				k.left = append(k.left, b)
			}
		}
	}
	n := copy(p, k.left)
	k.left = k.left[n:]
	return n, nil
}

// interrupted reports whether Ctrl-C was pressed since the last call.
func (k *keys) interrupted() bool {
	was := k.stopped
	k.stopped = false
	return was
}

// past is the history of entered lines, newest first.
type past struct{ all []string }

func (p *past) Add(line string) {
	if line != "" && (len(p.all) == 0 || p.all[0] != line) {
		p.all = slices.Insert(p.all, 0, line)
	}
}

func (p *past) Len() int        { return len(p.all) }
func (p *past) At(i int) string { return p.all[i] }
