package recording

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// The limits of a recording.
const (
	MaxValue = 1 << 20  // bytes of a request, an answer or a result, as JSON
	MaxCalls = 10_000   // calls
	MaxFile  = 64 << 20 // bytes of a file
)

// version is that of the files that this package writes.
const version = 1

// heading is the first line of a recording.
const heading = "# A recording of calls. Tests replay it; weft test --record writes it."

// call is one recorded call.
type call struct {
	node    string // see Difference
	index   int    // among the Sends of the step; -1 is none
	kind    string // one of kinds
	name    string
	request *value // nil of kindTools
	outcome        // of the call
	line    int    // in the file; 0 if it is not there
	number  int    // among those of the node in the file, from 1
	used    bool
	// optional is true if the call need not be made again: its step has failed.
	optional bool
}

// outcome is what a call returned.
type outcome struct {
	result *value // named as results has it; may be nil
	err    *value // nil if it has not failed
}

// The kinds of calls, as they are in the file.
const (
	kindModel      = "model"
	kindTool       = "tool"
	kindTools      = "tools"
	kindHTTP       = "http"
	kindExec       = "exec"
	kindEmbedder   = "embedder"
	kindCapability = "capability"
	kindFunction   = "function"
)

// kinds are the kinds of calls.
var kinds = []string{kindModel, kindTool, kindTools, kindHTTP, kindExec, kindEmbedder, kindCapability, kindFunction}

// results are the names of results in the file, by kind.
var results = map[string]string{
	kindModel: "answer", kindTool: "result", kindTools: "list", kindHTTP: "response", kindExec: "output", kindEmbedder: "vectors",
	kindCapability: "written", kindFunction: "result",
}

// called are the kinds in errors, if they have other names there.
var called = map[string]string{kindTools: "list of tools of", kindHTTP: "request", kindExec: "program"}

func (c *call) String() string { return cmp.Or(called[c.kind], c.kind) + " " + c.name }

// place returns the beginning of an error at the call.
func (c *call) place() string {
	if c.node == "" {
		return ""
	}
	return "node " + c.node + ": "
}

// value returns the call as it is in the file.
func (c *call) value() *value {
	v := &value{kind: object}
	if c.node != "" {
		v.set("node", &value{kind: text, text: c.node})
	}
	if c.index >= 0 {
		v.set("index", &value{text: strconv.Itoa(c.index)})
	}
	if c.optional {
		v.set("optional", &value{text: "true"})
	}
	v.set(c.kind, &value{kind: text, text: c.name})
	if c.request != nil {
		v.set("request", c.request)
	}
	if c.result != nil {
		v.set(results[c.kind], c.result)
	}
	if c.err != nil {
		v.set("error", c.err)
	}
	return v
}

var oneKind = strings.Join(kinds, ", ")

// callOf reads what value returns.
func callOf(v *value) (*call, error) {
	bad := func(v *value, format string, args ...any) (*call, error) {
		return nil, &FileError{Line: v.line, Reason: fmt.Sprintf(format, args...)}
	}
	if v.kind != object {
		return bad(v, "a call must be a mapping")
	}
	c := &call{index: -1, line: v.line}
	for i, key := range v.keys {
		item := v.items[i]
		if slices.Contains(kinds, key) {
			if item.kind != text {
				return bad(item, "%s must be a text", key)
			}
			if c.kind != "" {
				return bad(item, "a call has one of %s", oneKind)
			}
			c.kind, c.name = key, item.text
			continue
		}
		switch key {
		case "node":
			if item.kind != text {
				return bad(item, "node must be a text")
			}
			c.node = item.text
		case "index":
			n, err := strconv.Atoi(item.text)
			if err != nil || item.kind != literal || n < 0 {
				return bad(item, "index must be a number from 0")
			}
			c.index = n
		case "optional":
			if item.text != "true" {
				return bad(item, "optional must be true")
			}
			c.optional = true
		case "request":
			c.request = item
		case "error":
			c.err = item
		default:
			if !slices.Contains(slices.Collect(maps.Values(results)), key) {
				return bad(item, "%q is not known", key)
			}
			c.result = item
		}
	}
	switch {
	case c.kind == "":
		return bad(v, "a call has one of %s", oneKind)
	case c.request == nil && c.kind != kindTools:
		return bad(v, "the request is missing")
	case c.result == nil && c.err == nil, c.result != nil && v.get(results[c.kind]) == nil:
		return bad(v, "the %s is missing", results[c.kind])
	}
	return c, c.check()
}

// check reads the outcome, so that a damaged one is found when the file is opened.
func (c *call) check() error {
	if c.err != nil {
		if _, err := c.failure(); err != nil {
			return err
		}
	}
	if c.result == nil {
		return nil
	}
	var err error
	switch c.kind {
	case kindModel:
		_, err = c.answer()
	case kindTool:
		_, err = c.output()
	case kindTools:
		_, err = c.infos()
	case kindHTTP:
		err = strict(c.result, new(HTTPResponse))
	case kindExec:
		err = strict(c.result, new(ExecOutput))
	case kindCapability:
		err = strict(c.result, new(written))
	case kindEmbedder:
		var v vectors
		if err = strict(c.result, &v); err == nil {
			if _, bad := v.embeddings(); bad != nil {
				err = &FileError{Line: c.result.line, Reason: bad.Error()}
			}
		}
	}
	return err
}

// encode returns the text of a file.
func encode(test string, calls []*call) ([]byte, error) {
	for _, quoted := range []bool{false, true} {
		w := writer{quoted: quoted}
		w.WriteString(heading + "\n")
		w.WriteString("version: " + strconv.Itoa(version) + "\n")
		if test != "" {
			w.member(0, "test", &value{kind: text, text: test})
		}
		w.WriteString("calls:\n")
		for _, c := range calls {
			w.item(2, c.value())
		}
		if w.Len() > MaxFile {
			return nil, &LimitError{What: "file", Size: w.Len(), Max: MaxFile}
		}
		again, err := parse(w.Bytes())
		if err == nil && slices.EqualFunc(calls, again, func(a, b *call) bool { return a.value().equal(b.value()) }) {
			return w.Bytes(), nil
		}
	}
	return nil, errors.New("recording: a value cannot be written as YAML")
}

// yamlLine finds the line in an error of the parser.
var yamlLine = regexp.MustCompile(`^yaml: line (\d+): (.*)$`)

// parse reads the text of a file. Its errors are FileErrors without a path.
func parse(data []byte) ([]*call, error) {
	fail := func(line int, format string, args ...any) ([]*call, error) {
		return nil, &FileError{Line: line, Reason: fmt.Sprintf(format, args...)}
	}
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); err != nil {
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			n, _ := strconv.Atoi(m[1])
			return fail(n, "%s", m[2])
		}
		if err == io.EOF {
			return fail(1, "it is empty")
		}
		return fail(0, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) != 1 {
		return fail(1, "it is empty")
	}
	root, err := fromYAML(doc.Content[0], 0)
	if err != nil {
		return nil, err
	}
	v := root.get("version")
	switch {
	case root.kind != object || v == nil:
		return fail(1, "it has no version")
	case v.text != strconv.Itoa(version):
		return fail(v.line, "the version %s is not known; this program knows %d", v.text, version)
	}
	for i, key := range root.keys {
		if !slices.Contains([]string{"version", "test", "calls"}, key) {
			return fail(root.items[i].line, "%q is not known", key)
		}
	}
	all := root.get("calls")
	if all == nil || all.kind != list {
		return fail(root.line, "calls must be a list")
	}
	if len(all.items) > MaxCalls {
		return fail(all.line, "there are more than %d calls", MaxCalls)
	}
	var calls []*call
	numbers := map[string]int{}
	for _, item := range all.items {
		c, err := callOf(item)
		if err != nil {
			return nil, err
		}
		numbers[c.node]++
		c.number = numbers[c.node]
		calls = append(calls, c)
	}
	return calls, nil
}

// load reads a file. A file that does not exist has no calls.
func load(path string) ([]*call, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxFile {
		return nil, &FileError{Path: path, Reason: fmt.Sprintf("it is larger than %d bytes", MaxFile)}
	}
	calls, err := parse(data)
	var bad *FileError
	if errors.As(err, &bad) {
		bad.Path = path
	}
	return calls, err
}

// replace writes a file, which appears under its name when it is whole. It is not touched if it has
// the text already.
func replace(path string, data []byte) (err error) {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".recording-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the first error is reported
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Is reports whether a file is a recording, by its first line.
func Is(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	line := make([]byte, len(heading)+1)
	_, err = io.ReadFull(f, line)
	return err == nil && string(line) == heading+"\n"
}
