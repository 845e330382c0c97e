package terminal

import "testing"

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"👩‍👩‍👧x", 3, "👩‍👩‍👧x"}, {"👩‍👩‍👧xy", 3, "👩‍👩‍👧…"}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abc", 0, ""}, {"", 0, ""}, {"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"a\x1b[2Jb\n", 9, "a [2Jb "}, {"e\u0301e\u0301", 2, "e\u0301e\u0301"},
	} {
		if got := Cut(c.s, c.n); got != c.want || Width(got) > c.n {
			t.Errorf("cut(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

func TestTail(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "bcd"}, {"abc", 0, ""}, {"abc", -1, ""}, {"", 3, ""}, {"日本語", 4, "本語"}, {"日本語", 5, " 本語"}, {"a\nb\x1b", 9, "a b "},
	} {
		if got := Tail(c.s, c.n); got != c.want || Width(got) > max(c.n, 0) {
			t.Errorf("tail(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
}
