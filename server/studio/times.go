package studio

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	h "github.com/weftrun/weft/internal/markup"
	"github.com/weftrun/weft/internal/picture"
)

// shownTimes is the part of a turn that the chart of the times shows.
type shownTimes struct {
	picture.Window
	middle picture.Window // the middle half of the chart
	all    picture.Window
}

// shownTimes reads ?times=FROM-TO, in ms since 1970. Without it all is shown.
func (r *request) shownTimes(spans []picture.Span, now time.Time) (t shownTimes, err error) {
	t.all = picture.Window{Start: spans[0].Start, End: spans[0].Start}
	for _, s := range spans {
		if s.Start.Before(t.all.Start) {
			t.all.Start = s.Start
		}
		end := s.End
		if end.IsZero() {
			end = now
		}
		if end.After(t.all.End) {
			t.all.End = end
		}
	}
	if text := r.URL.Query().Get("times"); text != "" {
		first, last, _ := strings.Cut(text, "-")
		from, err := strconv.ParseUint(first, 10, 48)
		to, err2 := strconv.ParseUint(last, 10, 48)
		if err != nil || err2 != nil || to <= from {
			return t, &requestError{http.StatusBadRequest, fmt.Sprintf("times must be FROM-TO in milliseconds since 1970 (got %.100q)", text)}
		}
		t.Window = picture.Window{Start: time.UnixMilli(int64(from)), End: time.UnixMilli(int64(to))}
	}
	return t, nil
}

// links lead to other parts of the turn.
func (t shownTimes) links(r *request, thread string) h.Part {
	const least = 2 * time.Millisecond
	shown, all := t.Window, t.Window == picture.Window{}
	if all {
		shown = t.all
	}
	size, path := shown.End.Sub(shown.Start), "/threads/"+url.PathEscape(thread)
	at := func(text string, w picture.Window) h.Part {
		address, length := "", w.End.Sub(w.Start)
		switch {
		case length < least:
		case !w.Start.After(t.all.Start) && !w.End.Before(t.all.End):
			if !all {
				address = r.with(path, "times", "")
			}
		default:
			from := w.Start.UnixMilli()
			address = r.with(path, "times", fmt.Sprintf("%d-%d", from, max(from+2, w.End.UnixMilli())))
		}
		return swap(address, "", text)
	}
	moved := func(start, end time.Duration) picture.Window {
		return picture.Window{Start: shown.Start.Add(start), End: shown.End.Add(end)}
	}
	return h.Nav(h.Class("steps"), h.Aria("label", "Times"),
		at("zoom in", t.middle), at("zoom out", moved(-size/2, size/2)),
		h.If(!all, at("earlier", moved(-size/2, -size/2)), at("later", moved(size/2, size/2)), at("all times", t.all),
			h.Span(h.Class("muted"), h.Text(picture.Duration(max(size, time.Microsecond))+" of "+picture.Duration(max(t.all.End.Sub(t.all.Start), time.Microsecond))))))
}
