// Package twisted makes broken document stores of sound ones, one fault each: a suite tests itself on them.
package twisted
