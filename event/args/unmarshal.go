package args

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// UnmarshalJSON sets the fields from a JSON object, in its order. An integer becomes an
// int64 or, from 2^63 on, a uint64; another number a float64; an object a Struct, an array a List.
// Text stays a string, also where [Struct.MarshalJSON] wrote bytes, an identifier, a time, an
// address or a number that JSON lacks. The same JSON is made of the fields again. null stands for
// a nil record.
func (s *Struct) UnmarshalJSON(data []byte) error {
	v, err := unmarshal(data)
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		*s = Struct{{Err: ErrNil}}
	case Struct:
		*s = v
	default:
		return fmt.Errorf("a JSON object is expected, not %.40s", data)
	}
	return nil
}

// UnmarshalJSON sets the elements from a JSON array, as [Struct.UnmarshalJSON] does.
func (l *List) UnmarshalJSON(data []byte) error {
	v, err := unmarshal(data)
	if err != nil {
		return err
	}
	list, ok := v.(List)
	if !ok {
		return fmt.Errorf("a JSON array is expected, not %.40s", data)
	}
	*l = list
	return nil
}

func unmarshal(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := value(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more behind the JSON value %.40s", data)
	}
	return v, nil
}

// value reads one value of the types that arguments have.
func value(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Number:
		return number(token.String())
	case json.Delim:
		fields := []Arg{}
		for d.More() {
			var a Arg
			if token == '{' {
				name, err := d.Token()
				if err != nil {
					return nil, err
				}
				a.Name = name.(string)
			}
			if a.Value, err = value(d); err != nil {
				return nil, err
			}
			fields = append(fields, a)
		}
		_, err := d.Token() // the end
		if token == '{' {
			return Struct(fields), err
		}
		return List(fields), err
	}
	return token, nil // text, true, false, null
}

func number(text string) (any, error) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && text != "-0" { // a float64
		return i, nil
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return u, nil
	}
	return strconv.ParseFloat(text, 64)
}

// UnmarshalErrors sets the Err of the fields, and of values within them, that a JSON object of
// [Struct.AppendErrors] names. They wrap [ErrTruncated] and [ErrFault] as the originals do.
func (s Struct) UnmarshalErrors(data []byte) error {
	var all Struct
	if err := all.UnmarshalJSON(data); err != nil {
		return err
	}
	for i := range s {
		all = s[i].take(all, s[i].Name)
	}
	if len(all) > 0 {
		return fmt.Errorf("an error is named of %q, which is not there", all[0].Name)
	}
	return nil
}

// take takes the errors of the argument, and of values within it, from those in their order.
func (a *Arg) take(errors Struct, path string) (rest Struct) {
	if len(errors) > 0 && errors[0].Name == path {
		text, _ := errors[0].Value.(string)
		a.Err, errors = read(text), errors[1:]
	}
	switch v := a.Value.(type) {
	case Struct:
		for i := range v {
			errors = v[i].take(errors, path+"."+v[i].Name)
		}
	case List:
		for i := range v {
			errors = v[i].take(errors, fmt.Sprintf("%s[%d]", path, i))
		}
	}
	return errors
}

// known is an error that was read, with what it wraps.
type known struct {
	text string
	is   error
}

func (e *known) Error() string { return e.text }
func (e *known) Unwrap() error { return e.is }

func read(text string) error {
	e := &known{text: text}
	for _, is := range []error{ErrTruncated, ErrFault, ErrNil, errUTF8} {
		if text == is.Error() {
			return is
		}
		if strings.HasPrefix(text, is.Error()) {
			e.is = is
		}
	}
	return e
}
