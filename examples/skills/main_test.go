package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/programtest"
)

func TestMain(m *testing.M) {
	programtest.Main(main)
	os.Exit(m.Run())
}

func TestProgram_WorksByASkill(t *testing.T) {
	for flag, want := range map[string]string{"--allow-exec": "\nreply: The total is 8 euros.\n", "--json=false": "\nreply: I must not run the script.\n"} {
		c := exec.CommandContext(t.Context(), os.Args[0], "run", "ask.yaml", flag, "--store", "memory:", "--input", "question=Tea costs 3 and cake costs 5 euros")
		c.Env = append(os.Environ(), programtest.Variable)
		if out, err := c.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), want) {
			t.Errorf("%s: got %s, %v, want %s", flag, out, err, want)
		}
	}
}
