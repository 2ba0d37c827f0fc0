-- The server's life: whether it can start, how it ended, and switching it off and on.

local status = require('midtoken.status')

local M = {}

local missing_was_said = false
local stopping = false

--- The command as it is configured; nil where it is a function, as `vim.lsp.rpc.connect(…)` gives.
---@return string[]?
function M.command()
  local command = vim.lsp.config.midtoken.cmd
  return type(command) == 'table' and command or nil
end

--- Whether the server's program is there; if it is not, that is said once.
---@return boolean
function M.can_start()
  local command = M.command()
  if command == nil or vim.fn.executable(command[1]) == 1 then
    missing_was_said = false
    return true
  end
  local message = ('%s is not on the PATH: install midtoken, or set `cmd` to its path with '):format(
    command[1]
  ) .. "vim.lsp.config('midtoken', { cmd = { … } })"
  status.current = { state = 'off', message = message }
  vim.g.midtoken_status = 'off'
  if not missing_was_said then
    missing_was_said = true
    vim.notify('midtoken: ' .. message, vim.log.levels.WARN)
  end
  return false
end

--- Note that a server has ended; if nobody asked it to, say so.
---@param code integer the program's exit code
---@param signal integer the signal that ended it, or 0
function M.ended(code, signal)
  vim.schedule(function()
    if stopping or (code == 0 and signal == 0) or vim.v.exiting ~= vim.NIL then
      status.update({ state = 'off', message = 'the server has stopped' })
    else
      local how = signal ~= 0 and ('signal %d'):format(signal) or ('code %d'):format(code)
      status.update({
        state = 'error',
        message = ('the server ended with %s: `:Midtoken log` tells more, `:Midtoken restart` starts it again'):format(
          how
        ),
      })
    end
  end)
end

---@return vim.lsp.Client[]
function M.clients()
  return vim.lsp.get_clients({ name = 'midtoken' })
end

--- Stop the server, and start none for files that are opened later.
function M.disable()
  stopping = true
  vim.lsp.enable('midtoken', false)
  for _, client in ipairs(M.clients()) do
    client:stop()
  end
  status.update({ state = 'off', message = '`:Midtoken toggle` switches it on' })
end

--- Start the server for the files that are open and for those to come.
function M.enable()
  stopping = false
  vim.lsp.enable('midtoken')
end

--- Load the model again; start the server if there is none.
function M.restart()
  local clients = M.clients()
  if #clients == 0 then
    return M.enable()
  end
  for _, client in ipairs(clients) do
    client:exec_cmd({ title = 'Restart the model', command = 'midtoken.restartModel' })
  end
end

return M
