package verbs

import "testing"

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
