package exprs

import "fmt"

// Compiler compiles the expressions of one file, which may have so many parts in all: each is
// bounded, but thousands of them are not. An expression counts as 6 parts itself. A nil Compiler
// compiles without a bound. It is for one goroutine at a time.
type Compiler struct {
	most, left int
}

// expressionParts is what any expression costs, in parts: what is made for it before it is read.
const expressionParts = 6

// NewCompiler returns a Compiler for expressions of at most so many parts.
func NewCompiler(parts int) *Compiler { return &Compiler{most: parts, left: parts} }

// spend takes parts away; once there are too few, there are none.
func (c *Compiler) spend(parts int) bool {
	switch {
	case c == nil:
		return true
	case parts > c.left:
		c.left = 0
		return false
	}
	c.left -= parts
	return true
}

func (c *Compiler) spent(src source) *Error {
	msg := fmt.Sprintf("the expressions of the file are too long (more than %d parts in all)", c.most)
	return src.errorAt(src.start(), 1, msg).as(Total)
}
