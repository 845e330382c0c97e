package reports

import (
	"encoding/xml"
	"os"
	"strings"

	"github.com/weftrun/weft/graph/workflow"
)

// The parts of the JUnit format that test runners of CI read.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Seconds  float64     `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr"`
	Seconds float64       `xml:"time,attr"`
	Failure *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the results of all files; a file is a suite.
func WriteJUnit(path string, all []TestedFile) error {
	var doc junitSuites
	for _, t := range all {
		s := junitSuite{Name: t.File}
		for _, r := range t.Report.Tests {
			c := junitCase{Name: r.Name, Class: t.File, File: r.File, Line: r.Line, Seconds: r.Elapsed.Seconds()}
			if !r.Passed() {
				s.Failures++
				c.Failure = failureOf(r)
			}
			s.Seconds += c.Seconds
			s.Cases = append(s.Cases, c)
		}
		s.Tests = len(s.Cases)
		doc.Tests, doc.Failures = doc.Tests+s.Tests, doc.Failures+s.Failures
		doc.Suites = append(doc.Suites, s)
	}
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(xml.Header+string(text)+"\n"), 0o644)
}

func failureOf(r workflow.TestResult) *junitFailure {
	var lines []string
	for _, p := range r.Failures {
		lines = append(lines, p.Excerpt())
	}
	return &junitFailure{Message: r.Failures[0].Msg, Text: strings.Join(lines, "\n")}
}

// TestedFile are the tests of one file.
type TestedFile struct {
	File   string
	Report workflow.TestReport
}
