package storetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSkipMostRules_NamesRules(t *testing.T) {
	files, err := filepath.Glob("../../checkpoint/checkpointtest/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, rule := range rulesOfCuts {
		if !strings.Contains(all.String(), `{"`+rule+`", `) {
			t.Errorf("checkpointtest has no rule %s", rule)
		}
	}
}
