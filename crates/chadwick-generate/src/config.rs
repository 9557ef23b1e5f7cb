//! What generated programs may contain.

/// A group of language constructs that can be switched off, for languages that lack it and for finding which one a failure needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Construct {
    Records,
    Sums,
    /// Lists and trees; also needs recursion.
    RecursiveTypes,
    /// Arrays whose elements are arrays of different sizes.
    RaggedArrays,
    /// Arrays whose size depends on data: `filter`, `partition`, growing loops.
    DynamicSizes,
    /// Arrays of size 0.
    EmptyArrays,
    Matrices,
    /// Functions as values: bound, chosen by `if`, in data, in loop state.
    FunctionValues,
    LocalFunctions,
    Recursion,
    ForLoops,
    WhileLoops,
    InPlaceUpdates,
    GeneralReductions,
    Scans,
    Scatters,
    Histograms,
    /// Indices, bounds and conditions that depend on numbers.
    DataIndices,
    Branches,
    NestedDerivatives,
    CustomRules,
    ParallelPairs,
    Attributes,
    Modules,
    /// Polymorphic and higher-order helper functions.
    Polymorphism,
}

impl Construct {
    pub const ALL: [Construct; 25] = [
        Construct::Records,
        Construct::Sums,
        Construct::RecursiveTypes,
        Construct::RaggedArrays,
        Construct::DynamicSizes,
        Construct::EmptyArrays,
        Construct::Matrices,
        Construct::FunctionValues,
        Construct::LocalFunctions,
        Construct::Recursion,
        Construct::ForLoops,
        Construct::WhileLoops,
        Construct::InPlaceUpdates,
        Construct::GeneralReductions,
        Construct::Scans,
        Construct::Scatters,
        Construct::Histograms,
        Construct::DataIndices,
        Construct::Branches,
        Construct::NestedDerivatives,
        Construct::CustomRules,
        Construct::ParallelPairs,
        Construct::Attributes,
        Construct::Modules,
        Construct::Polymorphism,
    ];
}

/// How large generated programs are and what they may contain.
#[derive(Clone, Debug)]
pub struct Config {
    /// About how many nodes the function under test has.
    pub size: usize,
    /// At most how many helper functions there are.
    pub helpers: usize,
    without: Vec<Construct>,
}

impl Default for Config {
    fn default() -> Config {
        Config { size: 40, helpers: 2, without: Vec::new() }
    }
}

impl Config {
    pub fn with_size(self, size: usize) -> Config {
        Config { size, ..self }
    }

    /// Without some constructs.
    pub fn without(mut self, constructs: &[Construct]) -> Config {
        self.without.extend_from_slice(constructs);
        self
    }

    /// With no other constructs than these.
    pub fn only(mut self, constructs: &[Construct]) -> Config {
        self.without = Construct::ALL.into_iter().filter(|construct| !constructs.contains(construct)).collect();
        self
    }

    pub fn allows(&self, construct: Construct) -> bool {
        !self.without.contains(&construct)
    }
}
