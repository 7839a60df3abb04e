# frozen_string_literal: true

# The commands in bin/ do the work; these are their names as rake tasks.

desc "Compile the C extension"
task(:compile) { ruby "bin/setup", "test", "development" }

desc "Run every test (bin/test takes paths)"
task(:test) { ruby "bin/test" }

desc "Run every check of the sources"
task(:lint) { ruby "bin/lint" }

desc "Run the tests on the other Rubies"
task(:matrix) { ruby "bin/matrix" }

desc "Write the API documentation to doc/"
task(:yard) { sh "yard", "doc", "--quiet" }

desc "Remove what was built (not the gems in vendor/bundle)"
task(:clean) { rm_rf %w[tmp doc coverage pkg .yardoc] + Dir["plait*/lib/plait/*.{so,bundle}"] }

desc "Build the gems into pkg/"
task :build do
  mkdir_p "pkg"
  Dir["plait*/*.gemspec"].each do |path|
    name = File.basename(path, ".gemspec")
    chdir(File.dirname(path)) { sh "gem", "build", File.basename(path), "--output", "../pkg/#{name}.gem" }
  end
end
