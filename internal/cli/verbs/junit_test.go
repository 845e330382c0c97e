package verbs_test

import (
	"encoding/xml"
	"os"
	"strings"
	"testing"
)

func TestJUnit_HasEveryTestOfEveryFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const flow = "version: 1\nstate: {n: {type: int, default: 1}}\nnodes: {a: {set: {n: \"${{ state.n + 1 }}\"}, next: END}}\ntests:\n"
	p.write("a.yaml", flow+"  - {name: is two, expect: {output: {n: 2}}}\n  - {name: \"is <three>\", expect: {output: {n: 3}}}\n")
	p.write("b.yaml", flow+"  - {name: two, expect: {output: {n: 2}}}\n")
	p.must(1, "test", "a.yaml", "b.yaml", "--junit", "out.xml")
	text, err := os.ReadFile(p.path("out.xml"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Name    string `xml:"name,attr"`
				Line    int    `xml:"line,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
					Text    string `xml:",chardata"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &doc); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if doc.Tests != 3 || doc.Failures != 1 || len(doc.Suites) != 2 || doc.Suites[1].Name != "b.yaml" {
		t.Fatalf("got\n%s", text)
	}
	bad := doc.Suites[0].Cases[1]
	if bad.Name != "is <three>" || bad.Line != 6 || bad.Failure == nil || !strings.Contains(bad.Failure.Text, "\n   6 | ") || doc.Suites[0].Cases[0].Failure != nil {
		t.Errorf("got\n%s", text)
	}
	p.must(2, "test", "b.yaml", "--junit", "no/such/folder/out.xml")
}
