package verbs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestAbove(t *testing.T) {
	for _, tt := range []struct {
		folders []string
		want    string
	}{
		{[]string{"."}, "."}, {[]string{"a/b"}, "a/b"}, {[]string{"a/b", "a/c/d"}, "a"}, {[]string{"a", "b"}, "."}, {[]string{"/x/y", "/x"}, "/x"},
	} {
		if got := above(tt.folders); got != tt.want {
			t.Errorf("above %q: got %q, want %q", tt.folders, got, tt.want)
		}
	}
}

// The list of the editor is empty while the only workflow is being written anew, and when it has
// been deleted.
func TestWorkflows_AFolderWithoutSome(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "hello.yaml")
	s := sources{app: &app{}, args: []string{dir}}
	lists := func(want ...string) {
		t.Helper()
		if got, err := s.workflows(); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	lists()
	for text, want := range map[string][]string{"nodes: {}\n": {file}, "": nil} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		lists(want...)
	}
}
