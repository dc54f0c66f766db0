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
        let fits = |class: Class, want| class == Class::Object || class.is_a(want);
        self.takes().map_or(Ok(()), |wanted| compare(classes, wanted, fits))
    }

    /// Refuses places that can't hold what it gives.
    ///
    /// # Errors
    /// `Invalid`, with the class.
    pub fn check_output(&self, classes: &[Option<Class>]) -> Result<()> {
        self.gives().map_or(Ok(()), |given| compare(classes, given, |class, give| class.is_a(give)))
    }

    /// None: anything.
    fn takes(&self) -> Option<&'static [Class]> {
        Some(match self {
            Self::Concat(_) => &[Class::Object, Class::Object],
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
            | Self::ToBytes => &[Class::String],
            Self::ToDateString(_) => &[Class::Date],
            Self::Size | Self::IsEmpty | Self::FirstItem | Self::LastItem | Self::NthItem(_) => {
                &[Class::Collection]
            }
            Self::ExtractKeys
            | Self::ExtractValues
            | Self::ExtractValue(_)
            | Self::MapFilter(_) => &[Class::Map],
            Self::To(_) | Self::Lower | Self::Upper | Self::Length(_) => &[Class::Object],
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
            Self::ParseDate { .. } | Self::CurrentDate => &[Class::Date],
            _ => return None,
        })
    }
}

fn compare(
    classes: &[Option<Class>],
    wanted: &[Class],
    fits: impl Fn(Class, Class) -> bool,
) -> Result<()> {
    if classes.len() != wanted.len() {
        return Err(Error::invalid(
            "the number of selected or projected values is not what the function takes or gives",
        )
        .with("wanted", wanted.len())
        .with("given", classes.len()));
    }
    for (class, wanted) in classes.iter().zip(wanted) {
        if let Some(class) = class
            && !fits(*class, *wanted)
        {
            return Err(Error::invalid("the class is not compatible with the function")
                .with("class", class.full_name())
                .with("wanted", wanted.full_name()));
        }
    }
    Ok(())
}
