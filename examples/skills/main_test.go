package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asProgram makes the test binary the program.
const asProgram = "SKILLS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestProgram_WorksByASkill(t *testing.T) {
	for flag, want := range map[string]string{"--allow-exec": "\nreply: The total is 8 euros.\n", "--json=false": "\nreply: I must not run the script.\n"} {
		c := exec.CommandContext(t.Context(), os.Args[0], "run", "ask.yaml", flag, "--store", "memory:", "--input", "question=Tea costs 3 and cake costs 5 euros")
		c.Env = append(os.Environ(), asProgram+"=1")
		if out, err := c.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), want) {
			t.Errorf("%s: got %s, %v, want %s", flag, out, err, want)
		}
	}
}
