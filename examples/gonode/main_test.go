package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"
)

func TestShout_IsAFunction(t *testing.T) {
	got, err := shout(context.Background(), text{"hello"})
	if got != "HELLO!" || err != nil {
		t.Errorf("shout: %q, %v", got, err)
	}
}

func TestProgram_HasAllVerbs(t *testing.T) {
	for args, want := range map[string]string{
		"validate greet.yaml":                             "greet.yaml: ok\n",
		"run greet.yaml --store memory: --input name=Ada": "greeting: HELLO ADA!\n",
	} {
		cmd := exec.Command("go", append([]string{"run", "."}, strings.Fields(args)...)...)
		got, err := cmd.Output()
		if string(got) != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", args, got, err, want)
		}
	}
}
