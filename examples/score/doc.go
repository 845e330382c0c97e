// Package score is an example of a node in another language: the workflow score.yaml scores texts
// with the Python script score.py. It has no Go code.
//
//	weft run examples/score/score.yaml --allow-exec --input 'texts=["A fine day!","Rain, rain."]'
package score
