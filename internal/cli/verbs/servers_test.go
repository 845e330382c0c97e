//go:build unix

package verbs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/servertest"
)

// TestExport_ThroughEveryStore asks in SQLite, moves to Redis and PostgreSQL, and
// is answered back in SQLite under another name.
func TestExport_ThroughEveryStore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	p.must(4, "run", "w.yaml", "--thread", "t", "--store", "sqlite:a.db")
	stores := []string{"sqlite:a.db", strings.Replace(servertest.Redis(t, "--requirepass", "red-secret"), "//", "//:red-secret@", 1), servertest.Postgres(t), "sqlite:b.db"}
	for i, to := range stores[1:] {
		file := fmt.Sprintf("%d.thread", i)
		p.write(file, p.must(0, "export", "t", "--store", stores[i]).stdout)
		args := []string{"import", file, "--store", to}
		e := p.must(0, args...)
		expect(t, "import", e.stdout, "thread t is stored up to checkpoint 1: interrupted\n")
		if e := p.must(2, args...); !strings.Contains(e.stderr, "exists already") || !strings.Contains(e.stderr, "--thread NAME") {
			t.Errorf("import over a thread: %s", e.stderr)
		}
		expect(t, "what export wrote of "+to, p.must(0, "export", "t", "--store", to).stdout, p.must(0, "export", "t", "--store", stores[0]).stdout)
	}
	piped := p.command("import", "-", "--thread", "u", "--store", stores[1])
	piped.Stdin = strings.NewReader(p.must(0, "export", "t", "--store", "sqlite:b.db").stdout)
	expect(t, "import from stdin", p.finish(piped).stdout, "thread u is stored up to checkpoint 1: interrupted\n")
	for i, store := range stores {
		thread := []string{"t", "u", "t", "t"}[i]
		e := p.must(0, "resume", "--thread", thread, "--answer", "x", "--store", store)
		expect(t, "the result in "+store, e.stdout, "result: x\n")
		e = p.must(0, "prune", thread, "--keep-last", "1", "--store", store)
		expect(t, "prune in "+store, e.stdout, "thread "+thread+": dropped 1 of 2 checkpoints\n")
		p.must(0, "delete", thread, "--yes", "--store", store)
		p.must(2, "state", "--thread", thread, "--store", store)
	}
	for _, store := range stores[1:3] {
		p.checkNoPassword(store)
	}
}

// checkNoPassword makes mistakes on a server and looks for the password in the output.
func (p place) checkNoPassword(store string) {
	p.Helper()
	_, secret, _ := strings.Cut(store, ":")
	_, secret, _ = strings.Cut(secret, ":")
	secret, _, _ = strings.Cut(secret, "@")
	wrong := strings.Replace(store, "@", "-and-wrong@", 1)
	if e := p.run("doctor", "--store", wrong); strings.HasPrefix(store, "redis") && (e.code != 1 || !strings.Contains(e.stdout, "do: start the server, and check the address and the password")) {
		p.Errorf("a wrong password: exit code %d\n%s", e.code, e.stderr)
	}
	for _, args := range [][]string{
		{"run", "w.yaml", "--thread", "v", "--store", store},
		{"inbox", "--store", store}, {"doctor", "--store", store}, {"threads", "--json", "--store", wrong}, {"threads", "--store", wrong},
		{"history", "--thread", "missing", "--store", store}, {"delete", "v", "--store", store},
		{"threads", "--store", strings.Replace(store, "://", "://%zz", 1)}, {"threads", "--store", strings.Replace(store, "-", "/", 1)},
		{"threads", "--store", "x" + store},
	} {
		e := p.run(args...)
		if said := e.stdout + e.stderr; strings.Contains(said, secret) || strings.Contains(said, "-secret") || strings.Contains(said, "and-wrong") {
			p.Errorf("%v prints the password:\n%s", args, said)
		}
	}
	cmd := p.command("history", "--thread", "missing")
	cmd.Env = append(cmd.Env, "WEFT_STORE="+wrong)
	if e := p.finish(cmd); strings.Contains(e.stderr, secret) {
		p.Errorf("with WEFT_STORE it prints the password:\n%s", e.stderr)
	}
}

// TestDoctor_DeadServer uses port 1, which has no server.
func TestDoctor_DeadServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	stores := []string{"redis://u:s3cret@127.0.0.1:1", "postgres://u:s3cret@127.0.0.1:1/x", "sqlite:" + p.dir}
	var cmds []*exec.Cmd
	for _, store := range stores {
		cmds = append(cmds, p.command("doctor", "--store", store), p.command("doctor", "--json", "--store", store))
	}
	all := p.finishAll(cmds...)
	for i, store := range stores {
		e, asJSON := all[2*i], all[2*i+1]
		if e.code != 1 || asJSON.code != 1 {
			t.Errorf("%s: exit codes %d and %d, want 1", store, e.code, asJSON.code)
		}
		lines := strings.Split(strings.TrimSuffix(e.stdout, "\n"), "\n")
		if len(lines) != 3 || !strings.HasPrefix(lines[0], "danger   store: ") || !strings.HasPrefix(lines[1], "         nothing can be run, resumed or read: ") || !strings.HasPrefix(lines[2], "         do: ") {
			t.Errorf("%s: got\n%s\nwant a danger, its cost and what to do", store, e.stdout)
		}
		if e.stderr != "" {
			t.Errorf("rule: no line of a client library is on stderr\n%s: %s", store, e.stderr)
		}
		if strings.Contains(e.stdout, "s3cret") || strings.Contains(e.stdout, "doctor") {
			t.Errorf("rule: doctor prints no password, and does not name itself\n%s", e.stdout)
		}
		if !strings.HasPrefix(asJSON.stdout, `{"severity":"danger","subject":"store","value":"`) || strings.Count(asJSON.stdout, "\n") != 1 {
			t.Errorf("%s: as JSON: %s", store, asJSON.stdout)
		}
	}
}

func TestDoctor_Servers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	bad := servertest.Redis(t, "--appendonly", "no")
	e := p.must(1, "doctor", "--store", bad)
	if !strings.HasPrefix(e.stdout, "danger   ") || !strings.Contains(e.stdout, "         do: appendonly yes") {
		t.Errorf("a server that saves nothing:\n%s", e.stdout)
	}
	e = p.must(1, "doctor", "--json", "--store", bad)
	if !strings.HasPrefix(e.stdout, `{"severity":"danger","subject":"`) || !strings.Contains(e.stdout, `"advice":"`) {
		t.Errorf("as JSON:\n%s", e.stdout)
	}
}

// TestDoctor_RightsOfTheStore examines a Redis with exactly the rights that a store needs: a run
// works, and the doctor does not say that nothing can be run.
func TestDoctor_RightsOfTheStore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	acl := filepath.Join(t.TempDir(), "users.acl")
	rules := "user default off\nuser service on >secret ~weft:* +@scripting +@hash +@sortedset +@keyspace +time +ping\n"
	if err := os.WriteFile(acl, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	e := p.must(0, "doctor", "--store", strings.Replace(servertest.Redis(t, "--aclfile", acl), "//", "//service:secret@", 1))
	if strings.Contains(e.stdout, "nothing can be run") || !strings.Contains(e.stdout, " INFO: ") || !strings.Contains(e.stdout, "+info") {
		t.Errorf("rule: doctor reports what it may not read, and which permission is missing\n got:\n%s", e.stdout)
	}
}
