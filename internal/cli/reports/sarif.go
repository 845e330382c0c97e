package reports

import (
	"cmp"
	"net/url"
	"path/filepath"

	"github.com/weftrun/weft/graph/workflow"
)

// The parts of SARIF 2.1.0 that verdicts need:
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	ColumnKind  string            `json:"columnKind"`
	Results     []sarifResult     `json:"results"` // never null, which means that no file was checked
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID    workflow.Code `json:"id"`
	Short sarifText     `json:"shortDescription"`
	Full  sarifText     `json:"fullDescription"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	Successful bool `json:"executionSuccessful"`
}

type sarifResult struct {
	RuleID    workflow.Code   `json:"ruleId,omitempty"`
	RuleIndex *int            `json:"ruleIndex,omitempty"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations,omitempty"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	Line   int `json:"startLine"`
	Column int `json:"startColumn"`
	End    int `json:"endColumn"`
}

// SARIF returns the verdicts as a document. Its rules are all that validate knows.
func SARIF(tool, version string, all []Verdict, whole bool) sarifLog {
	driver := sarifDriver{Name: tool, Version: version}
	index := map[workflow.Code]int{}
	for i, e := range workflow.Codes() {
		index[e.Code] = i
		driver.Rules = append(driver.Rules, sarifRule{e.Code, sarifText{e.Title}, sarifText{e.Why}})
	}
	results := []sarifResult{}
	for _, v := range all {
		for _, p := range v.Problems {
			r := sarifResult{RuleID: p.Code, Level: cmp.Or(p.Severity, "error"), Message: sarifText{p.text()}}
			if i, ok := index[p.Code]; ok {
				r.RuleIndex = &i
			}
			if p.File != "" {
				r.Locations = []sarifLocation{{sarifPhysical{sarifArtifact{uri(p.File)}, sarifRegion{p.Line, p.Col, p.Col + p.Width}}}}
			}
			results = append(results, r)
		}
	}
	run := sarifRun{sarifTool{driver}, []sarifInvocation{{whole}}, "unicodeCodePoints", results}
	return sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}

// uri returns a path as a URI, relative where the path is.
func uri(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
	}
	return u.String()
}
