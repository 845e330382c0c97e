package message_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/state/message"
)

func TestEstimate_FollowsItsFormula(t *testing.T) {
	data, _ := message.Data([]int{1, 2, 3})
	named := message.User("12345678")
	named.Name = "1234"
	for _, tt := range []struct {
		what string
		m    message.Message
		want int
	}{
		{"nothing", message.Assistant(""), 4},
		{"text is a token for 4 bytes, rounded up", message.User("123456789"), 4 + 3},
		{"other scripts are a token a character", message.User("日本語"), 4 + 3},
		{"a name is text", named, 4 + 1 + 2},
		{"data is its JSON", message.UserParts(data), 4 + 2},
		{"an image is flat", message.UserParts(message.ImageURL(strings.Repeat("x", 1000))), 4 + 765},
		{"another part is its JSON", message.UserParts(message.Part{Type: "xxxx"}), 4 + 4},
		{"a call", message.Assistant("", message.Call{ID: "1234", Name: "1234", Arguments: jsonRaw(`{"a":123}`)}), 4 + 4 + 1 + 1 + 3},
		{"a result", message.Tool(message.ResultOf("1234", "12345678")), 4 + 4 + 1 + 2},
	} {
		if got, err := (message.Estimate{}).Count(tt.m); got != tt.want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", tt.what, got, err, tt.want)
		}
	}
	e := message.Estimate{PerMessage: 1, PerCall: 1, PerImage: 1, Text: func(s string) (int, error) { return len(s), nil }}
	if got, _ := e.Count(message.UserParts(message.Text("abc"), message.ImageURL("u"))); got != 1+3+1 {
		t.Errorf("with numbers of its own: got %d", got)
	}
}

var errVocabulary = errors.New("no vocabulary")

func TestCounter_ErrorsNameTheMessage(t *testing.T) {
	e := message.Estimate{Text: func(string) (int, error) { return 0, errVocabulary }}
	for _, c := range []message.Counter{e, &message.Cached{Counter: e}} {
		_, err := message.Total(c, []message.Message{message.Assistant(""), user("b", "x")})
		if !errors.Is(err, errVocabulary) || !strings.Contains(err.Error(), `"b"`) {
			t.Errorf("got %v", err)
		}
		if _, err = (message.Window{MaxTokens: 9, Counter: c}).Fit([]message.Message{user("b", "x")}); !errors.Is(err, errVocabulary) {
			t.Errorf("Fit: got %v", err)
		}
	}
}

// counted counts how often it was asked.
type counted struct {
	mu    sync.Mutex
	asked int
}

func (c *counted) Count(m message.Message) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return len(m.Text()), nil
}

func TestCache_CountsAreStoredByIDAndContent(t *testing.T) {
	under := new(counted)
	c := &message.Cached{Counter: under}
	for range 3 {
		for _, m := range []message.Message{user("a", "1"), user("b", "1"), user("a", "12")} {
			if n, err := c.Count(m); n != len(m.Text()) || err != nil {
				t.Errorf("got %d, %v", n, err)
			}
		}
	}
	if under.asked != 3 {
		t.Errorf("asked %d times, want once for each id and content", under.asked)
	}
	if n, _ := new(message.Cached).Count(user("a", "1234")); n != 5 {
		t.Errorf("the zero Cached counts %d, want what Estimate does", n)
	}
}

func TestCache_IsBounded(t *testing.T) {
	under := new(counted)
	c := &message.Cached{Counter: under, Size: 10}
	for i := range 1000 {
		_, _ = c.Count(user(fmt.Sprint(i), "x"))
		_, _ = c.Count(user("hot", "x"))
	}
	if under.asked != 1001 {
		t.Errorf("asked %d times: what is asked for all the time was forgotten", under.asked)
	}
	_, _ = c.Count(user("0", "x"))
	if under.asked != 1002 {
		t.Error("the oldest message is still remembered")
	}
}

// It is meant for the race detector.
func TestCache_ConcurrentUse(t *testing.T) {
	c := &message.Cached{Counter: new(counted), Size: 3}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 100 {
				if n, err := c.Count(user(fmt.Sprint(i%7), "xy")); n != 2 || err != nil {
					t.Errorf("got %d, %v", n, err)
				}
			}
		})
	}
	wg.Wait()
}
