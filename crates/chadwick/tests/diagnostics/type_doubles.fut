-- Each name has twice the parts of the one before.
def pair 'a (x: a) = (x, x)
def four x = pair (pair x)
def sixteen x = four (four x)
def many x = sixteen (sixteen x)
def more x = many (many x)
def most x = more (more x)
