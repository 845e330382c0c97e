// Package fieldname defines the valid names of state fields and of their object members.
package fieldname
