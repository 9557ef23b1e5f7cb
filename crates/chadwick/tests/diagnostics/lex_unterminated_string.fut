entry main = "abc
