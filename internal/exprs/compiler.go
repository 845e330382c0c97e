package exprs

import "fmt"

// Compiler compiles the expressions of one file and bounds their total number of parts. Each
// expression counts as 6 parts in addition to its nodes. A nil Compiler has no bound. A Compiler is
// not safe for concurrent use.
type Compiler struct {
	most, left int
}

// expressionParts is the fixed cost of an expression in parts, for its setup.
const expressionParts = 6

// NewCompiler returns a Compiler for expressions of at most parts parts in total.
func NewCompiler(parts int) *Compiler { return &Compiler{most: parts, left: parts} }

// spend subtracts parts and reports whether enough were left. If not, none are left.
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

// spent returns the error of an expression that exceeds the bound of the file.
func (c *Compiler) spent(src source) *Error {
	msg := fmt.Sprintf("the expressions of the file are too long (more than %d parts in all)", c.most)
	return src.errorAt(src.start(), 1, msg).as(Total)
}
