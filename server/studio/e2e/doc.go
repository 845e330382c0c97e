// Package e2e drives the studio in a browser, as a person does. It needs Chromium.
package e2e
