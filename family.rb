# frozen_string_literal: true

require_relative "plait/lib/plait/version"

# What the gemspecs of the family have in common.
module PlaitFamily
  PAGES = %w[README.md CHANGELOG.md].freeze

  # @param spec [Gem::Specification] that has its name
  def self.describe(spec)
    spec.version = Plait::VERSION
    spec.authors = ["The Plait developers"]
    spec.license = "MIT"
    spec.required_ruby_version = ">= 3.1"
    spec.homepage = "https://rubygems.org/gems/#{spec.name}"
    spec.metadata = metadata("#{spec.homepage}/versions/#{spec.version}", "https://rubydoc.info/gems/#{spec.name}/#{spec.version}")
    spec.extra_rdoc_files = PAGES.dup
  end

  # @param source [String] until the repository has a public address, the page that has the package
  def self.metadata(source, documentation)
    { "source_code_uri" => source, "documentation_uri" => documentation,
      "changelog_uri" => "#{documentation}/file/CHANGELOG.md", "rubygems_mfa_required" => "true" }
  end
  private_class_method :metadata
end
