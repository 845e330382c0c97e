package sniff_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weftrun/weft/internal/sniff"
)

func TestType_KeepsTheContent(t *testing.T) {
	for content, want := range map[string]string{
		"": "", "\x89PNG\r\n\x1a\n": "image/png", "%PDF-1.7": "application/pdf", "\x01\x02": "application/octet-stream",
		strings.Repeat("long text ", 1000): "text/plain; charset=utf-8",
	} {
		got, r, err := sniff.Type(iotest.OneByteReader(strings.NewReader(content)))
		if err != nil || got != want {
			t.Errorf("%.10q: got %q, %v; want %q", content, got, err, want)
		}
		if whole, err := io.ReadAll(r); err != nil || string(whole) != content {
			t.Errorf("%.10q: %d bytes are left, %v; want all %d", content, len(whole), err, len(content))
		}
	}
}

func TestType_ReturnsTheErrorOfItsReader(t *testing.T) {
	lost := errors.New("the connection was lost")
	if _, _, err := sniff.Type(io.MultiReader(strings.NewReader("GIF8"), iotest.ErrReader(lost))); !errors.Is(err, lost) {
		t.Errorf("got %v, want the error of the reader", err)
	}
}
