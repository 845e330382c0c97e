package session_test

import (
	"errors"
	"testing"

	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/state/message"
)

func TestAppend_MessageThatIsThere(t *testing.T) {
	w := newWorld(t, "a message of calls or results that is in the log is an ErrDuplicate when it is appended again")
	id := w.create(session.Start{}).ID
	asked := w.append(id, message.User("q"), call("1")).Added[1]
	_, err := w.m.Append(w.ctx, id, asked)
	w.wantError(err, session.ErrDuplicate)
	answered := w.append(id, result("1")).Added[0]
	for _, m := range []message.Message{asked, answered} {
		_, err = w.m.Append(w.ctx, id, m)
		w.wantError(err, session.ErrDuplicate)
	}
	var invalid *message.InvalidError
	if _, err := w.m.Append(w.ctx, id, result("1")); !errors.As(err, &invalid) {
		w.Errorf("rule: a second result of a call in a new message is an *InvalidError\n got: %v", err)
	}
	w.want(w.logOf(id), "q", "", "r1")
}
