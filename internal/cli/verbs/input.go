package verbs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weftrun/weft/internal/cli/reports"
	"github.com/weftrun/weft/internal/cli/terminal"
)

// inputText is the value of one field as the user gave it.
type inputText struct {
	text []byte
	json bool // JSON for certain; otherwise text that may be JSON
}

// inputGC is the target percentage of the garbage collector while an input is read. A large input
// passes through several forms, of which two are in use at a time.
const inputGC = 10

// input reads the --input and --config flags as an input of the graph. If two flags name the same
// field, the last one wins.
func (s *session) input(ctx context.Context, inputs, configs []string) (in json.RawMessage, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(inputGC))
	room := terminal.MaxInput
	inputs, files := s.blobFiles(inputs)
	values, err := s.given(ctx, inputs, &room, s.fits)
	if err != nil {
		return nil, err
	}
	if err := s.checkSizes(ctx, values); err != nil {
		return nil, err
	}
	for name, path := range files {
		if values[name], err = s.putFile(ctx, path); err != nil {
			return nil, err
		}
	}
	if s.graph.flow == nil && len(configs) > 0 {
		return nil, reports.Usage("give what it needs with --input", "the graph %q is in Go and has no config", s.graph.Name())
	}
	config, err := s.given(ctx, configs, &room, s.graph.takesSetting)
	if err != nil {
		return nil, err
	}
	if in, err = s.graph.begin(values, config); err != nil {
		return nil, &reports.Failure{Code: reports.ExitUsage, Err: fmt.Errorf("the input does not fit: %w", err), Next: s.graph.takes()}
	}
	return in, nil
}

// given reads the flags of one kind. fits reports whether a field takes a value. room is the number
// of bytes that may still be read.
func (s *session) given(ctx context.Context, specs []string, room *int, fits func(string, json.RawMessage) bool) (map[string]json.RawMessage, error) {
	texts := map[string]inputText{}
	for _, spec := range specs {
		n, err := s.readInput(ctx, spec, *room, texts)
		if err != nil {
			return nil, err
		}
		*room -= n
	}
	values := map[string]json.RawMessage{}
	if *room < terminal.MaxInput-1<<20 {
		runtime.GC() // only the texts are still in use
	}
	for name, v := range texts {
		values[name] = typed(name, v, fits)
		delete(texts, name)
	}
	return values, nil
}

// readInput reads one flag of at most room bytes, and returns its length in bytes.
func (a *app) readInput(ctx context.Context, spec string, room int, into map[string]inputText) (n int, err error) {
	name, value, pair := strings.Cut(spec, "=")
	var data []byte
	switch {
	case !utf8.ValidString(spec):
		return 0, notText(fmt.Sprintf("input %q", spec))
	case spec == "-":
		if data, err = a.readStdin(ctx, room); errors.Is(err, terminal.ErrTooLong) {
			err = tooLong("stdin")
		}
		return len(data), orJSON(data, err, "stdin", into)
	case strings.HasPrefix(spec, "@"):
		data, err = readFile(spec[1:], room)
		return len(data), orJSON(data, err, spec[1:], into)
	case !pair || name == "":
		return 0, reports.Usage("write --input NAME=VALUE, NAME=@FILE, @FILE.json or -", "the input %q has no name", spec)
	case strings.HasPrefix(value, "@"):
		if data, err = readFile(value[1:], room); err != nil {
			return 0, err
		}
		if !utf8.Valid(data) {
			return 0, notText("input from " + value[1:])
		}
		into[name] = inputText{quoteText(data), true}
		return len(data), nil
	case len(value) > room:
		return 0, tooLong("the field " + name)
	}
	into[name] = inputText{text: []byte(value)}
	return len(value), nil
}

// readStdin reads all of stdin, at most so many bytes, or until ctx ends.
func (a *app) readStdin(ctx context.Context, limit int) ([]byte, error) {
	return terminal.Await(ctx, func() ([]byte, error) { return terminal.ReadAtMost(a.config.Stdin, limit) })
}

// tooLong returns the error for an input that is longer than the limit.
func tooLong(what string) error {
	return reports.Usage("keep it in a file of its own and give its path, or give less; nothing was stored",
		"the input is too long: with %s it is more than %d MiB", what, terminal.MaxInput>>20)
}

// orJSON reads a JSON object of fields.
func orJSON(data []byte, err error, from string, into map[string]inputText) error {
	if err != nil {
		return err
	}
	if !utf8.Valid(data) {
		return notText("input from " + from)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return reports.Usage("it must look like {\"field\": value}", "the input from %s is not a JSON object%s", from, because(err))
	}
	for name, v := range object {
		into[name] = inputText{v, true}
	}
	return nil
}

// notText returns the error for text that is not valid UTF-8, since JSON would replace bytes of it.
func notText(which string) error {
	return reports.Usage("encode it as UTF-8, or as text such as base64", "the %s is not UTF-8 text", which)
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// readFile reads a file of at most room bytes.
func readFile(path string, room int) ([]byte, error) {
	data, err := terminal.ReadFileAtMost(path, room)
	if errors.Is(err, terminal.ErrTooLong) {
		return nil, tooLong(path)
	}
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, reports.Usage("check the path", "the input file %s cannot be read: %w", path, err)
	}
	return data, nil
}

// typed returns a value as JSON. The text stays as it is if it is JSON that fits the field, and
// becomes a string if a string fits. If neither fits, the text is JSON if it is valid JSON, else a
// string. A null fits every field, and is a string where a number does not fit but a string does.
// An integer of more than 64 bits is a string where one fits, since a state changes its digits.
func typed(name string, v inputText, fits func(string, json.RawMessage) bool) json.RawMessage {
	if v.json {
		return v.text
	}
	plain, quoted := json.RawMessage(v.text), json.RawMessage(quoteText(v.text))
	probe := plain
	if string(bytes.TrimSpace(plain)) == "null" {
		probe = json.RawMessage("0")
	}
	if json.Valid(plain) && (fits(name, probe) && !isLongInteger(plain) || !fits(name, quoted)) {
		return plain
	}
	return quoted
}

var integer = regexp.MustCompile(`^\s*-?[0-9]+\s*$`)

// isLongInteger reports whether a text is an integer of more than 64 bits.
func isLongInteger(text []byte) bool {
	if !integer.Match(text) {
		return false
	}
	_, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return err != nil
}

// fits reports whether a field takes a value.
func (s *session) fits(name string, value json.RawMessage) bool {
	probe, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err == nil {
		_, err = s.graph.InputHash(probe)
	}
	return err == nil
}

// quoteText returns UTF-8 text as a JSON string. It needs little more memory than the result.
func quoteText(text []byte) []byte {
	var count, quoted inner
	for _, to := range []*inner{&count, &quoted} {
		enc := json.NewEncoder(to)
		for rest := text; len(rest) > 0; {
			n := min(len(rest), 16<<10)
			for n < len(rest) && !utf8.RuneStart(rest[n]) {
				n++
			}
			_ = enc.Encode(string(rest[:n])) // a string never fails
			rest = rest[n:]
		}
		if to == &count {
			quoted.text = append(make([]byte, 0, count.n+2), '"')
		}
	}
	return append(quoted.text, '"')
}

// inner receives the strings that an Encoder writes, without the quotes and the newline. Without a
// text it only counts bytes.
type inner struct {
	text []byte
	n    int
}

func (w *inner) Write(p []byte) (int, error) {
	part := p[1 : len(p)-2]
	if w.n += len(part); w.text != nil {
		w.text = append(w.text, part...)
	}
	return len(p), nil
}

func quoteJSON(s string) string {
	data, _ := json.Marshal(s) // a string never fails
	return string(data)
}
