//! What a function takes and gives, so that a view is refused when it is made and not when it is used.

use super::Function;
use crate::bucket::graph::value::Class;
use crate::error::{Error, Result};

impl Function {
    /// Refuses input of classes that it can't take; `None` is a class nobody knows.
    ///
    /// # Errors
    /// `Invalid`, with the class.
    pub fn check_input(&self, classes: &[Option<Class>]) -> Result<()> {
        self.takes().map_or(Ok(()), |wanted| compare(classes, wanted))
    }

    /// Refuses places that can't hold what it gives. As in Koryphe a place must be of the class that is given, or of a
    /// narrower one: one of a wider class is refused.
    ///
    /// # Errors
    /// `Invalid`, with the class.
    pub fn check_output(&self, classes: &[Option<Class>]) -> Result<()> {
        self.gives().map_or(Ok(()), |given| compare(classes, given))
    }

    /// None: anything.
    fn takes(&self) -> Option<&'static [Class]> {
        Some(match self {
            Self::Concat(_) | Self::Longest => &[Class::Object, Class::Object],
            Self::Divide | Self::Multiply => &[Class::Integer, Class::Integer],
            Self::DivideBy(_) | Self::MultiplyBy(_) => &[Class::Integer],
            Self::MultiplyLongBy(_) => &[Class::Long],
            Self::Increment(_) => &[Class::Number],
            Self::Trim
            | Self::Reverse
            | Self::Append(_)
            | Self::Prepend(_)
            | Self::Replace(..)
            | Self::RegexReplace(..)
            | Self::Split(_)
            | Self::RegexSplit(_)
            | Self::Truncate { .. }
            | Self::ParseDate { .. }
            | Self::ParseTime { .. }
            | Self::DeserialiseJson(_)
            | Self::ToWildcardPair(_)
            | Self::ToBytes => &[Class::String],
            Self::ToDateString(_) => &[Class::Date],
            Self::Base64Decode => &[Class::Bytes],
            Self::Size
            | Self::IsEmpty
            | Self::FirstItem
            | Self::LastItem
            | Self::NthItem(_)
            | Self::FirstValid(_)
            | Self::IterableConcat
            | Self::IterableFilter(_)
            | Self::IterableFlatten(_)
            | Self::IterableFunction(_)
            | Self::IterableLongest
            | Self::Join(_)
            | Self::ReduceRelated(_)
            | Self::ToSketch { many: true, .. } => &[Class::Collection],
            Self::ExtractKeys
            | Self::ExtractValues
            | Self::ExtractValue(_)
            | Self::FunctionMap(_)
            | Self::MapFilter(_) => &[Class::Map],
            Self::FreqMapFilter(_) => &[Class::FreqMap],
            Self::Identity
            | Self::SetValue(_)
            | Self::ToNull
            | Self::DefaultIfNull(_)
            | Self::DefaultIfEmpty(_)
            | Self::CurrentDate
            | Self::CurrentTime
            | Self::To(_)
            | Self::ToTuple
            | Self::ToFreqMap
            | Self::ToSketch { many: false, .. }
            | Self::ToTypeValue(_)
            | Self::ToTypeSubTypeValue(..)
            | Self::ToEntityId
            | Self::Lower
            | Self::Upper
            | Self::Length(_) => &[Class::Object],
            _ => return None,
        })
    }

    fn gives(&self) -> Option<&'static [Class]> {
        Some(match self {
            Self::Concat(_)
            | Self::To(Class::String)
            | Self::Lower
            | Self::Upper
            | Self::Trim
            | Self::Reverse
            | Self::Append(_)
            | Self::Prepend(_)
            | Self::Replace(..)
            | Self::RegexReplace(..)
            | Self::Truncate { .. }
            | Self::Join(_)
            | Self::ExtractGroup
            | Self::ToDateString(_) => &[Class::String],
            Self::Divide | Self::DivideBy(_) => &[Class::Integer, Class::Integer],
            Self::Multiply
            | Self::MultiplyBy(_)
            | Self::To(Class::Integer)
            | Self::Size
            | Self::Length(_) => &[Class::Integer],
            Self::MultiplyLongBy(_)
            | Self::To(Class::Long)
            | Self::ParseTime { .. }
            | Self::CurrentTime => &[Class::Long],
            Self::To(Class::Double) => &[Class::Double],
            Self::To(Class::Float) => &[Class::Float],
            Self::To(Class::Boolean) | Self::IsEmpty => &[Class::Boolean],
            Self::Increment(_) => &[Class::Number],
            Self::ParseDate { .. } | Self::CurrentDate => &[Class::Date],
            Self::ToBytes | Self::Base64Decode => &[Class::Bytes],
            Self::To(Class::Array) => &[Class::Array],
            Self::Split(_) | Self::RegexSplit(_) | Self::To(Class::ArrayList) => &[Class::List],
            Self::To(Class::HashSet | Class::LinkedHashSet | Class::TreeSet) => &[Class::Set],
            Self::ExtractKeys
            | Self::ExtractValues
            | Self::IterableConcat
            | Self::IterableFilter(_)
            | Self::IterableFunction(_)
            | Self::CsvToMaps(_) => &[Class::Collection],
            Self::MapFilter(_) | Self::FunctionMap(_) => &[Class::Map],
            Self::FreqMapFilter(_) | Self::ToFreqMap => &[Class::FreqMap],
            Self::ToSketch { class: Class::HllSketch, .. } => &[Class::HllSketch],
            Self::ToSketch { .. } => &[Class::HyperLogLogPlus],
            Self::ToTypeValue(_) => &[Class::TypeValue],
            Self::ToTypeSubTypeValue(..) => &[Class::TypeSubTypeValue],
            Self::Identity
            | Self::SetValue(_)
            | Self::ToNull
            | Self::DefaultIfNull(_)
            | Self::DefaultIfEmpty(_)
            | Self::IterableLongest => &[Class::Object],
            _ => return None,
        })
    }
}

fn compare(classes: &[Option<Class>], wanted: &[Class]) -> Result<()> {
    if classes.len() != wanted.len() {
        return Err(Error::invalid(
            "the number of selected or projected values is not what the function takes or gives",
        )
        .with("wanted", wanted.len())
        .with("given", classes.len()));
    }
    for (class, wanted) in classes.iter().zip(wanted) {
        if let Some(class) = class
            && !class.is_a(*wanted)
        {
            return Err(Error::invalid("the class is not compatible with the function")
                .with("class", class.full_name())
                .with("wanted", wanted.full_name()));
        }
    }
    Ok(())
}
