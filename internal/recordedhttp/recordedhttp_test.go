package recordedhttp

import "testing"

func TestParse_RejectsCasesWithoutWant(t *testing.T) {
	for _, text := range []string{"", "want: ok\ntext: x\n", "want: ok\n-- response --\n", "text: x\n-- response --\n"} {
		if _, err := parse("x", text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestResponse_HeadHasTheLinesOfTheWire(t *testing.T) {
	c, err := parse("x", "want: ok\ntext: x\nthen: hang\n-- response --\nHTTP/1.1 200 OK\nA: b\n\ndata: 1\n\n")
	if err != nil || string(c.Raw) != "HTTP/1.1 200 OK\r\nA: b\r\n\r\ndata: 1\n\n" || c.Then != "hang" {
		t.Errorf("got %q, %+v, %v", c.Raw, c, err)
	}
}
