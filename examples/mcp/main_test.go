package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The test binary is the program and the server when it has the name shop.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "shop" {
		main()
		return
	}
	os.Exit(m.Run())
}

// shop returns what runs the program in a folder with the workflow, as a process of its own.
func shop(t *testing.T) func(args ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	file, err := os.ReadFile("order.yaml")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "order.yaml"), file, 0o600)
	}
	program, err2 := os.Executable()
	if err2 == nil {
		err2 = os.Symlink(program, filepath.Join(dir, "shop"))
	}
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	return func(args ...string) (string, error) {
		c := exec.CommandContext(t.Context(), "./shop", append(args, "--store", "sqlite:threads.db")...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		return string(out), err
	}
}

func TestProgram_AsksWhatTheServerAsks(t *testing.T) {
	for answer, want := range map[string]string{
		`--answer={"cups": 2}`: "reply: 2 cups of tea are on their way.",
		"--answer=2":           `type: 2 has type "integer", want "object"`,
	} {
		run := shop(t)
		if out, _ := run("run", "order.yaml", "--allow-exec", "--thread", "order", "--input", "wish=tea"); !strings.Contains(out, "How many cups of tea?") {
			t.Fatalf("got %s, want the question of the server", out)
		}
		if out, _ := run("resume", "order", answer, "--allow-exec"); !strings.Contains(out, want) {
			t.Errorf("%s: got %s, want %s", answer, out, want)
		}
	}
}

func TestProgram_DeclinedQuestion(t *testing.T) {
	run := shop(t)
	if out, _ := run("run", "order.yaml", "--allow-exec", "--thread", "order", "--input", "wish=tea"); !strings.Contains(out, "How many cups of tea?") {
		t.Fatalf("got %s, want the question of the server", out)
	}
	out, err := run("inbox", "show", "order")
	_, id, ok := strings.Cut(out, "--decline ")
	if id, _, _ = strings.Cut(id, " "); err != nil || !ok {
		t.Fatalf("got %s, %v, want the id of the question", out, err)
	}
	if out, err = run("resume", "order", "--decline", id, "--reason", "enough", "--allow-exec"); err != nil || !strings.Contains(out, "reply: No tea then.") {
		t.Errorf("got %s, %v, want the answer of the server", out, err)
	}
}

func TestProgram_StartsNoServerWithoutPermission(t *testing.T) {
	if out, err := shop(t)("run", "order.yaml", "--thread", "order", "--input", "wish=tea"); err == nil || !strings.Contains(out, "--allow-exec") {
		t.Errorf("got %s, %v, want an error that names the flag", out, err)
	}
}
