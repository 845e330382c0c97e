package reports

import (
	"strings"
	"testing"
)

func TestAddress_PasswordIsNotPrinted(t *testing.T) {
	for address, want := range map[string]string{
		"redis://ann:geheim@host:6379/1":              "redis://ann:xxxxx@host:6379/1",
		"redis://:geheim@host":                        "redis://:xxxxx@host",
		"redis://:gehei@m/geheim?geheim@host":         "redis://:xxxxx@host",
		"postgres://ann@host/db?password=geheim":      "postgres://ann@host/db?password=xxxxx",
		"postgres://h/db?sslpassword=geheim&a=b":      "postgres://h/db?sslpassword=xxxxx&a=b",
		"sentinel+redis://h?sentinel_password=geheim": "sentinel+redis://h?sentinel_password=xxxxx",
		"postgres://ann:geheim@h1:1,h2:2/db":          "postgres://ann:xxxxx@h1:1,h2:2/db",
		"redis://host:6379":                           "redis://host:6379",
		"sqlite:/home/a:b@c/x?password=y":             "sqlite:/home/a:b@c/x?password=y",
		"memory:":                                     "memory:",
	} {
		if got := WithoutPassword(address); got != want {
			t.Errorf("withoutPassword(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestText_PasswordIsRemoved(t *testing.T) {
	a := &Output{Store: `redis://ann:ge%2Fha"im@host`}
	for _, text := range []string{
		`parse "redis://ann:ge%2Fha\"im@host": no`, `dial redis://ann:ge%2Fha"im@host`, `the password ge/ha"im is wrong`, `"ge/ha\"im"`,
	} {
		if got := a.Public(text); strings.Contains(got, "im@") || strings.Contains(got, `im is`) || strings.Contains(got, `im"`) || !strings.Contains(got, masked) {
			t.Errorf("public(%s) = %s", text, got)
		}
	}
	short := &Output{Store: "redis://:a@host"}
	if got := short.Public("a car at redis://:a@host"); got != "a car at redis://:xxxxx@host" {
		t.Errorf("a short password: %s", got)
	}
	if got := (&Output{Store: "sqlite:x.db"}).Public("sqlite:x.db has no password"); got != "sqlite:x.db has no password" {
		t.Errorf("no password: %s", got)
	}
}
