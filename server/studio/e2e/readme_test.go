package e2e

import (
	"bytes"
	"image/png"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestReadme_ShowsTheStudio makes the picture of the README anew if WEFT_SHOTS names a folder, and
// checks the one that is there.
func TestReadme_ShowsTheStudio(t *testing.T) {
	t.Parallel()
	const width, height = 1280, 860
	s := start(t, "dev", "--demo")
	thread := s.create(t, `{"question":"Why is the sky blue?"}`)
	b := s.open(t, "/studio/threads/"+thread, theme("light"), size(width, height))
	b.press("Approve")
	b.until(`document.querySelector('#summary .status-idle') && document.querySelector('#node\\:send').classList.contains('state-done')`)
	b.do(chromedp.Evaluate[chromedp.Void](`scrollTo(0, 0)`))
	if dir := os.Getenv("WEFT_SHOTS"); dir != "" {
		if err := os.WriteFile(dir+"/studio.png", run(b, chromedp.CaptureScreenshot()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile("../../../docs/studio.png")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil || shown.Width != width || shown.Height != height || len(data) > 200<<10 {
		t.Errorf("docs/studio.png has %dx%d pixels and %d bytes, %v; want %dx%d, at most 200 KiB", shown.Width, shown.Height, len(data), err, width, height)
	}
	text, err := os.ReadFile("../../../README.md")
	for _, name := range []string{"(docs/studio.png)", "(docs/review.svg)"} {
		if err != nil || !strings.Contains(string(text), name) {
			t.Errorf("the README does not show %s: %v", name, err)
		}
	}
}
