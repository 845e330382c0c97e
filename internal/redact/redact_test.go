package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/redact"
)

// lower converts the escapes of a URL to lower case.
func lower(escaped string) string {
	var b strings.Builder
	for i := 0; i < len(escaped); i++ {
		if escaped[i] == '%' {
			b.WriteString(strings.ToLower(escaped[i : i+3]))
			i += 2
			continue
		}
		b.WriteByte(escaped[i])
	}
	return b.String()
}

// every escapes each byte, even if it needs no escape.
func every(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

func quoted(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

// encodings returns a text in all encodings that must be found.
func encodings(s string) map[string]string {
	b := []byte(s)
	all := map[string]string{
		"raw": s, "hex": hex.EncodeToString(b), "HEX": strings.ToUpper(hex.EncodeToString(b)),
		"query": url.QueryEscape(s), "path": url.PathEscape(s), "query in lower case": lower(url.QueryEscape(s)),
		"path in lower case": lower(url.PathEscape(s)), "user": url.User(s).String(), "all percent": every(s, "%%%02X"),
		"all percent in lower case": every(s, "%%%02x"), "escaped twice": url.QueryEscape(url.QueryEscape(s)),
		"JSON": quoted(s), "JSON in JSON": quoted(quoted(s)), "Go": strconv.Quote(s), "ASCII": strconv.QuoteToASCII(s),
		"Go in JSON": quoted(strconv.Quote(s)), "HTML": html.EscapeString(s), "HTML twice": html.EscapeString(html.EscapeString(s)),
		"query in JSON": quoted(url.QueryEscape(s)), "HTML in JSON": quoted(html.EscapeString(s)),
		"slashes in JSON": strings.ReplaceAll(quoted(s), "/", `\/`), "JSON in a query": url.QueryEscape(quoted(s)),
		"all x": every(s, `\x%02x`), "all in HTML": every(s, "&#x%02X;"),
	}
	if !isASCII(s) {
		delete(all, "all in HTML")
	}
	for name, enc := range map[string]*base64.Encoding{"std": base64.StdEncoding, "url": base64.URLEncoding, "raw std": base64.RawStdEncoding, "raw url": base64.RawURLEncoding} {
		all["base64 "+name] = enc.EncodeToString(b)
		all["base64 "+name+" in a query"] = url.QueryEscape(enc.EncodeToString(b))
	}
	return all
}

func isASCII(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return r > 127 }) < 0 }

var examples = []string{
	"s3cret-key", "p@ss w0rd/+&?#", `a"b\c'd<e>f&g`, "sk-ünïcödé-日本-🔑", "100%25 \\n \\u0041 &amp; %", "line\nbreak\ttab", `\\\\`, "%%%%", "&&&;", "AAAAAAAA", "e",
}

func TestReplace_FindsEveryEncoding(t *testing.T) {
	for _, secret := range examples {
		r := redact.New(redact.Secret{Value: secret, Shown: "[S]"})
		for name, text := range encodings(secret) {
			if got := r.Replace("<< " + text + " >>"); !strings.HasPrefix(got, "<< ") || !strings.Contains(got, "[S]") || strings.Contains(got, text) || len(got) > len("<< [S] >>")+6 {
				t.Errorf("%q as %s, %q: got %q, want << [S] >>", secret, name, text, got)
			}
		}
	}
}

func TestReplace_FindsSecretsInsideBase64(t *testing.T) {
	for _, secret := range []string{"s3cret-key", "p@ss w0rd/+&?#", "123456"} {
		r := redact.New(redact.Secret{Value: secret, Shown: "[S]"})
		for before := range 9 {
			for after := range 4 {
				for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
					text := enc.EncodeToString([]byte(strings.Repeat("u", before) + secret + strings.Repeat("v", after)))
					got := r.Replace(text)
					if len(secret) >= 7 && !strings.Contains(got, "[S]") {
						t.Errorf("%d bytes, %q, %d bytes: got %q", before, secret, after, got)
					}
					for _, rest := range strings.Split(got, "[S]") {
						plain, _ := enc.DecodeString(rest[:len(rest)/4*4])
						if strings.ContainsAny(string(plain), secret) && strings.Contains(got, "[S]") {
							t.Errorf("%d bytes, %q, %d bytes: %q is left of it", before, secret, after, plain)
						}
					}
				}
			}
		}
	}
}

// TestReplace_FindsMixtures escapes each character of a secret in a random way.
func TestReplace_FindsMixtures(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	ways := []func(c byte) string{
		func(c byte) string { return string(rune(c)) }, func(c byte) string { return fmt.Sprintf("%%%02x", c) },
		func(c byte) string { return fmt.Sprintf(`\u%04X`, c) }, func(c byte) string { return fmt.Sprintf(`\\u%04x`, c) },
		func(c byte) string { return fmt.Sprintf("&#%d;", c) }, func(c byte) string { return fmt.Sprintf("%%25%02X", c) },
	}
	for _, secret := range []string{"s3cret-key", `a"b\c'd<e>f&g%h`} {
		r := redact.New(redact.Secret{Value: secret, Shown: "[S]"})
		for range 500 {
			var b strings.Builder
			for i := range len(secret) {
				b.WriteString(ways[rnd.IntN(len(ways))](secret[i]))
			}
			if got := strings.Trim(r.Replace(b.String()), `\`); got != "[S]" {
				t.Fatalf("%q as %q: got %q", secret, b.String(), got)
			}
		}
	}
}

func TestReplace_PrefersTheLongest(t *testing.T) {
	r := redact.New(redact.Secret{Value: "key", Shown: "[short]"}, redact.Secret{Value: "key-2", Shown: "[long]"}, redact.Secret{}).
		With(redact.Secret{Value: "u:key", Shown: "[pair]"})
	if got := r.Replace("key key-2 u:key ke " + base64.StdEncoding.EncodeToString([]byte("u:key"))); got != "[short] [long] [pair] ke [pair]" {
		t.Errorf("got %q", got)
	}
	if got := (*redact.Redactor)(nil).Replace("key"); got != "key" {
		t.Errorf("got %q from the nil Redactor", got)
	}
	text := `no secret in {"here": "%zz \u12 & &; \"}`
	if got := r.Replace(text); got != text {
		t.Errorf("got %q", got)
	}
}

func FuzzReplace(f *testing.F) {
	for _, s := range examples {
		f.Add(s, "text "+url.QueryEscape(s))
	}
	f.Add("\xff", `\ud83d\udd11 \ud83d \U0010ffff &#1114112; &#xFFFFF; %`)
	f.Fuzz(func(t *testing.T, secret, text string) {
		r := redact.New(redact.Secret{Value: secret, Shown: "\x00"})
		if got := r.Replace(text + secret); secret != "" && !strings.Contains(secret, "\x00") && strings.Contains(got, secret) {
			t.Errorf("%q is in %q", secret, got)
		}
	})
}

func BenchmarkReplace(b *testing.B) {
	r := redact.New(redact.Secret{Value: "sk-0123456789abcdef", Shown: "[S]"}, redact.Secret{Value: "another p@ssword", Shown: "[T]"})
	text := strings.Repeat(`{"name":"a value that is \"quoted\"","url":"https://example.org/?q=a%20b&amp;c"},`, 1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r.Replace(text)
	}
}

func TestNew_CopiesItsSecrets(t *testing.T) {
	list := []redact.Secret{{Value: "open sesame", Shown: "•"}}
	r := redact.New(list...)
	list[0].Value = "changed"
	if got := r.With(redact.Secret{Value: "other secret", Shown: "•"}).Replace("open sesame"); got != "•" {
		t.Errorf("got %q, want •", got)
	}
}
