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
	Skipped  int         `xml:"skipped,attr,omitempty"`
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
	Skipped *junitSkipped `xml:"skipped"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
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
	return writeXML(path, doc)
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

// Suite has the results of what is no test of a file.
type Suite struct {
	Name  string
	Cases []Case
}

// Case is one of them. Text is why it failed or was skipped.
type Case struct {
	Name            string
	Seconds         float64
	Failed, Skipped bool
	Text            string
}

// WriteSuite writes one suite.
func WriteSuite(path string, suite Suite) error {
	s := junitSuite{Name: suite.Name, Tests: len(suite.Cases)}
	for _, c := range suite.Cases {
		one := junitCase{Name: c.Name, Class: suite.Name, File: suite.Name, Line: 1, Seconds: c.Seconds}
		switch first, _, _ := strings.Cut(c.Text, "\n"); {
		case c.Failed:
			s.Failures++
			one.Failure = &junitFailure{Message: first, Text: c.Text}
		case c.Skipped:
			s.Skipped++
			one.Skipped = &junitSkipped{Message: first}
		}
		s.Seconds += c.Seconds
		s.Cases = append(s.Cases, one)
	}
	return writeXML(path, junitSuites{Tests: s.Tests, Failures: s.Failures, Suites: []junitSuite{s}})
}

func writeXML(path string, doc junitSuites) error {
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(xml.Header+string(text)+"\n"), 0o644)
}
