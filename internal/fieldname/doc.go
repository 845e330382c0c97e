// Package fieldname says which names a field of a state, and a member of an object in it, may have.
package fieldname
