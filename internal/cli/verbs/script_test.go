package verbs_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestScripts runs the scripts of testdata/scripts, which are txtar files. First come the commands,
// each with its output and its exit code, then the files that they use.
//
//   - A line "$ weft …" is a command. Its stdout follows, then its stderr with "! " before each
//     line, then "[N]" if the exit code is not 0.
//   - In the output the program is weft, the folder of the test is DIR, and times are TIME. The ids
//     of questions, tasks and unnamed threads are ID, SHORT-ID, TASK and UUID, and hashes are HASH.
//   - In a command, ID is the last printed id, HASH the last printed hash, and NAMESPACE the last
//     printed namespace of a subgraph. The text after " > " is a file for stdout.
//   - A line "% keep" stores a thread and sessions as an application does: see keep. A line
//     "% accept" stores runs as a server does: see accept.
//   - The output of version is left out. A line that begins with "#: " is a remark.
//
// With -update the test writes the scripts again.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			script, archive := cutScript(string(text))
			p := newPlace(t)
			p.unpack(archive)
			got := p.play(script)
			if got == script {
				return
			}
			if !updating() {
				t.Errorf("%s: got\n%s\nwant\n%s", file, got, script)
			} else if err := os.WriteFile(file, []byte(got+archive), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// cutScript returns the commands and the files of a script.
func cutScript(text string) (script, archive string) {
	if at := strings.Index(text, "\n-- "); at >= 0 {
		return text[:at+1], text[at+1:]
	}
	return text, ""
}

// unpack writes the files of an archive.
func (p place) unpack(archive string) {
	p.Helper()
	for part := range strings.SplitSeq("\n"+archive, "\n-- ") {
		name, text, ok := strings.Cut(part, " --\n")
		if !ok {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o700); err != nil {
			p.Fatal(err)
		}
		p.write(name, text+"\n")
	}
}

// play runs the commands of a script and returns it with what they print.
func (p place) play(script string) string {
	p.Helper()
	var b strings.Builder
	last, namespace, hash := "", "", ""
	for line := range strings.Lines(script) {
		command, ok := strings.CutPrefix(line, "$ weft")
		switch {
		case ok:
			b.WriteString(line)
			e := p.redirected(strings.ReplaceAll(strings.ReplaceAll(inCommand.ReplaceAllString(command, last), "NAMESPACE", namespace), "HASH", hash))
			if found := someNamespace.FindString(e.stdout + e.stderr); found != "" {
				namespace = found
			}
			if found := someHash.FindString(e.stdout); found != "" {
				hash = found
			}
			if found := someID.FindStringSubmatch(e.stdout); found != nil {
				last = found[1]
			}
			p.print(&b, e)
		case line == "% keep\n":
			b.WriteString(line)
			p.keep()
		case line == "% accept\n":
			b.WriteString(line)
			p.accept()
		case strings.HasPrefix(line, "#: "):
			b.WriteString(line)
		}
	}
	return b.String()
}

// redirected runs a command, and writes its stdout to the file after " > ", if there is one.
func (p place) redirected(command string) ended {
	p.Helper()
	command, file, redirect := strings.Cut(strings.TrimSpace(command), " > ")
	e := p.run(words(command)...)
	if redirect {
		p.write(file, e.stdout)
		e.stdout = ""
	}
	return e
}

var (
	inCommand = regexp.MustCompile(`\bID\b`)
	someID    = regexp.MustCompile(`(?m)(?:^|\b)([0-9a-f]{8}(?:[0-9a-f]{8}\b|  ))`)
	someHash  = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	// someNamespace is that of a subgraph which is called once.
	someNamespace = regexp.MustCompile(`\b\w+:[0-9a-f]{32}(?:\|\w+:[0-9a-f]{32})*`)

	random = []struct {
		what *regexp.Regexp
		name string
	}{
		{regexp.MustCompile(`(?m)^weft \S+ \(go\S+ \S+\)`), "weft VERSION (GO, SYSTEM)"},
		{regexp.MustCompile(`("go"|"version"):"[^"]+"`), "$1:VERSION"},
		{regexp.MustCompile(`, by \S+ \((cli|chat|go), [^)]*\)`), ", by USER ($1, TIME)"},
		{regexp.MustCompile(`"by":"[^"]*","via"`), `"by":"USER","via"`},
		{regexp.MustCompile(`[\d.]+(TIME|ms)`), "TIME"},
		{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT[0-9:]+\.\d+Z`), "TIME"},
		{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:]+Z  `), "TIME  "},
		{regexp.MustCompile(`("next":)"[-0-9:TZ]+"`), `$1"TIME"`},
		{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "UUID"},
		{someHash, "HASH"},
		{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "TASK"},
		{regexp.MustCompile(`\b[0-9a-f]{16}\b`), "ID"},
		{regexp.MustCompile(`AGE +EXPIRES`), "AGE  EXPIRES"},
		{regexp.MustCompile(`\b[0-9a-f]{8}(  |=)`), "SHORT-ID$1"},
	}
)

// settled returns a text in which nothing differs between two runs.
func (p place) settled(text string) string {
	text = withoutTimes(strings.NewReplacer(program, "weft", p.dir, "DIR").Replace(text))
	for _, r := range random {
		text = r.what.ReplaceAllString(text, r.name)
	}
	return text
}

// print writes down how a command ended.
func (p place) print(b *strings.Builder, e ended) {
	b.WriteString(p.settled(e.stdout))
	if e.stdout != "" && !strings.HasSuffix(e.stdout, "\n") {
		b.WriteString("\n")
	}
	for line := range strings.Lines(p.settled(e.stderr)) {
		b.WriteString("! " + line)
	}
	if e.code != 0 {
		fmt.Fprintf(b, "[%d]\n", e.code)
	}
}

// words splits a line as a shell does, as far as spaces and single quotes go.
func words(line string) (all []string) {
	for i, part := range strings.Split(strings.TrimSpace(line), "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

// updating reports whether the flag -update of the package's tests is set.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }
